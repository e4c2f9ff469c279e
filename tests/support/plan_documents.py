"""Documents of small plans, and copies of them with something changed."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from solver.claim import claim_from_bytes
from solver.effort import Effort
from solver.objectives import OBJECTIVES
from solver.planning import DEFAULT_EFFORT, plan, project
from solver.problem import Ends, Placement, Stage
from solver.recheck import findings
from solver.report.plan_json import PlanInputs, plan_document
from solver.solution import Bound, Level, Outcome, Solution
from support.problems import problem_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from solver.claim import Claim
    from solver.finding import Finding
    from solver.planning import Plan

EFFORT = Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0)
TIED = Ends(input_bytes=3, output_bytes=4, tied_bytes=3, host_bytes=1)
THREES = problem_of((3, 3, 3), (7, 7, 7))
SPREAD = Placement((Stage(0, 1, "n0"), Stage(1, 2, "n1"), Stage(2, 3, "n2")))
ABSTRACT = replace(problem_of((5, 2, 3, 4, 6), (14, 22, 12, 0), ends=TIED), activation_bytes=8, context_tokens=512)


def document_of(found: Plan, wanted: str = "nodes,balance") -> dict[str, Any]:
    """Return the document of a plan as a file would give it."""
    inputs = PlanInputs(None, None, DEFAULT_EFFORT, (("objective", wanted),))
    document: dict[str, Any] = json.loads(json.dumps(plan_document(found, inputs, timings=False)))
    return document


def planned(wanted: str = "nodes,balance") -> dict[str, Any]:
    """Return the document of a plan of five blocks on two of four nodes."""
    return document_of(plan(ABSTRACT, wanted, EFFORT), wanted)


def claim_of(document: Mapping[str, Any]) -> Claim:
    """Return what a document claims."""
    return claim_from_bytes(json.dumps(document).encode(), "plan.json")


def found_in(document: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return what an audit finds."""
    return findings(claim_of(document))


def places(document: Mapping[str, Any]) -> list[str]:
    """Return where an audit finds something."""
    return [finding.place for finding in found_in(document)]


def leaves(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], object]]:
    """Yield every value of a document that holds no others, with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def changed(document: Mapping[str, Any], path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    """Return a copy with one value changed."""
    copied: Any = copy.deepcopy(document)
    inner = copied
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return dict(copied)


def other(value: object) -> object:
    """Return a value like this one and not it: a number by one, a truth turned, a text or null with something in it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    return 1 if value is None else f"{value}x"


def suboptimal(*, optimal: bool) -> Plan:
    """Return a plan on three nodes where two are enough, which a wrong bound calls optimal, or a true one feasible."""
    bounds = (Bound("closed form", 2), Bound("exact search", 3)) if optimal else (Bound("closed form", 2),)
    level = Level(OBJECTIVES["nodes"], 3, bounds[-1].value, bounds, "exact search" if optimal else "none")
    outcome = Outcome.OPTIMAL if optimal else Outcome.FEASIBLE
    solution = Solution(outcome, SPREAD, (level,), interrupted=False, deterministic_time=0.0, wall_ms=0)
    return project(THREES, None, solution, SPREAD)

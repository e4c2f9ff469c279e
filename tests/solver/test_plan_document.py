"""The document of a plan: whole, valid, and the same bytes however a proved plan was found."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from support.plan_documents import document_of, planned
from support.plans import model_plan, six_blocks, stopped_plan, unknown_plan
from support.problems import NO_RULES, larger_problem, problem_of, random_problem, with_times
from support.timed import GB, growing, joined, near, timed

from solver.effort import Effort
from solver.objectives import objectives_named
from solver.planning import plan, project
from solver.problem import Ends
from solver.provers import provers_for
from solver.report.plan_json import PlanInputs, instance_sha256, plan_document
from solver.solution import Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solver.problem import Problem, Rules

    Validate = Callable[[Mapping[str, Any]], None]

GOLDEN = Path(__file__).with_name("golden")
DOCUMENTS: dict[str, Callable[[], dict[str, Any]]] = {
    "plan-of-a-model": lambda: document_of(model_plan(six_blocks())),
    "plan-of-a-problem": planned,
    "plan-that-cannot-be": lambda: document_of(plan(problem_of((4, 4, 4, 2), (5, 5, 5)))),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_plan_is_written_as_it_was(name: str, validate_document: Validate) -> None:
    """Every field, compared with a file that was read by a person; LAYERFIT_RENEW=1 writes the files anew."""
    document = DOCUMENTS[name]()
    validate_document(document)
    document["solver"]["version"] = "of OR-Tools"
    path = GOLDEN / f"{name}.json"
    if os.environ.get("LAYERFIT_RENEW") == "1":
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")

    assert json.loads(path.read_text(encoding="utf-8")) == document


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (document_of(stopped_plan(interrupted=True)), ("feasible", "none", 1 / 28)),
        (document_of(stopped_plan(interrupted=False, bound=None)), ("feasible", "none", None)),
        (document_of(unknown_plan(interrupted=True)), ("unknown", "none", None)),
    ],
    ids=["a gap", "no bound", "nothing"],
)
def test_what_is_not_proved_is_said_to_be_so(
    document: dict[str, Any], expected: tuple[str, str | None, float | None], validate_document: Validate
) -> None:
    validate_document(document)
    last = document["objective"][-1]

    assert expected == (document["outcome"], document["proof"], last["gap"])


@pytest.mark.parametrize(
    ("weights", "rules", "exact", "backend"),
    [
        ((9, 9), NO_RULES, True, "closed form"),
        ((4, 4, 4, 2), NO_RULES, True, "exact search"),
        ((3, 3, 1, 3), replace(NO_RULES, min_blocks=2), True, "exact search"),
        ((3, 3, 1, 3), replace(NO_RULES, min_blocks=2), False, "cp-sat"),
    ],
)
def test_who_showed_that_nothing_fits_is_the_backend(
    weights: tuple[int, ...], rules: Rules, exact: bool, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CP-SAT is left to do it where no search applies."""
    problem = replace(problem_of(weights, (5, 5, 5)), rules=rules)
    monkeypatch.setattr("solver.solve.provers_for", partial(provers_for, exact=exact))
    document = document_of(plan(problem))

    assert ("infeasible", backend) == (document["outcome"], document["solver"]["backend"])


def test_every_scalar_of_a_plan_without_a_placement_is_null() -> None:
    """Never 0: a figure that does not exist is no figure. What is assumed is no figure of the plan."""
    document = document_of(unknown_plan(interrupted=False))
    check = {name: value for name, value in document["check"].items() if name != "assumed_imbalance"}

    assert {None} == set(check.values())
    assert [[], [], [], []] == [document[name] for name in ("stages", "pools", "seams", "transfer")]


def test_a_plan_without_an_answer_keeps_the_bound_of_its_first_objective() -> None:
    """Any answer keeps to it; what follows has none."""
    nothing = {"value": None, "gap": None, "proof": "none", "numerator": None, "denominator": None}

    assert [
        nothing | {"name": "nodes", "bound": 2, "unit": "count", "bounds": [{"name": "closed form", "value": 2}]},
        nothing | {"name": "balance", "bound": None, "unit": "ratio", "bounds": []},
    ] == document_of(unknown_plan(interrupted=False))["objective"]


def test_timings_are_all_that_can_be_left_out() -> None:
    found = plan(problem_of((3, 3), (7, 7)))
    inputs = PlanInputs("m", "/m", Effort(60, None, 8, 0), ())
    timed, untimed = (plan_document(found, inputs, timings=timings) for timings in (True, False))

    assert {"wall_ms", "deterministic_time"} == timed["solver"].keys() - untimed["solver"].keys()
    assert {name: part for name, part in timed.items() if name != "solver"} == {
        name: part for name, part in untimed.items() if name != "solver"
    }


def test_the_hash_of_an_instance_is_that_of_its_problem_alone() -> None:
    problem = problem_of((3, 3), (7, 7))

    assert instance_sha256(problem) == instance_sha256(problem_of((3, 3), (7, 7)))
    assert instance_sha256(problem) != instance_sha256(replace(problem, activation_bytes=1))


def bytes_of(problem: Problem, wanted: str, effort: Effort, *, exact: bool) -> str:
    """Return a plan's document without what the effort itself says."""
    solution = solve(problem, objectives_named(wanted), effort, provers=provers_for(problem, exact=exact))
    assert Outcome.OPTIMAL is solution.outcome
    assert solution.placement is not None
    found = project(problem, None, solution, solution.placement)
    return json.dumps(plan_document(found, PlanInputs(None, None, Effort(60, None, 1, 0), ()), timings=False))


@pytest.mark.parametrize("exact", [True, False], ids=["exact search", "cp-sat"])
@pytest.mark.parametrize("wanted", ["nodes,balance", "load,nodes"])
def test_a_proved_plan_does_not_depend_on_workers_or_seeds(wanted: str, exact: bool) -> None:
    """Unlike nodes, equal ones, and blocks that leave many placements of the same values; bounds included."""
    alike = problem_of((7,) * 12, (30, 30, 30, 30, 40, 40))
    tied = problem_of((5, 9, 5, 9, 5, 9, 5), (30, 25, 25, 20), ends=Ends(4, 4, 4, 1))
    for problem in (alike, tied, larger_problem(Random(3), ruled=False)):
        efforts = [Effort(60, None, workers, seed) for workers, seed in ((1, 0), (1, 7), (2, 1), (8, 0), (8, 5))]

        assert 1 == len({bytes_of(problem, wanted, effort, exact=exact) for effort in efforts})


@pytest.mark.parametrize("exact", [True, False], ids=["exact search", "cp-sat"])
@pytest.mark.parametrize("wanted", ["latency,balance", "throughput,nodes", "tokens,headroom", "nodes,context,latency"])
def test_a_proved_plan_with_times_does_not_depend_on_workers_or_seeds(wanted: str, exact: bool) -> None:
    """Links and speeds that tell nodes apart, equal blocks, and unlike ones."""
    link = near(3, GB)
    alike = timed(problem_of((7,) * 8, (30, 30, 30, 40)), (GB, GB, 2 * GB, GB))
    unlike = timed(problem_of((5, 9, 5, 7, 5, 9), (30, 25, 20), ends=Ends(4, 4, 4, 1)), (GB, (5, 7, 12, 20), 2 * GB))
    for problem in (alike, unlike):
        asked = growing(joined(problem, link, ("n0", "n2", near(9)), activation_bytes=4), (1,) * len(problem.blocks))
        efforts = [Effort(60, None, workers, seed) for workers, seed in ((1, 0), (2, 1), (8, 5))]

        assert 1 == len({bytes_of(asked, wanted, effort, exact=exact) for effort in efforts})


def test_both_methods_give_the_same_stages() -> None:
    """Their documents differ in nothing but the name of the proof."""
    effort = Effort(60, None, 2, 0)
    for seed in range(12):
        problem = random_problem(Random(seed), 8, 4)
        if solve(problem, objectives_named("nodes"), effort).outcome is not Outcome.OPTIMAL:
            continue
        first, second = (bytes_of(problem, "nodes,balance", effort, exact=exact) for exact in (True, False))

        assert first.replace("exact search", "cp-sat") == second


@pytest.mark.parametrize("wanted", ["latency", "throughput,nodes", "nodes,tokens"])
def test_both_methods_give_the_same_stages_for_times(wanted: str) -> None:
    """Their documents differ in nothing but the name of the proof."""
    effort = Effort(60, None, 2, 0)
    compared = 0
    for seed in range(25):
        random = Random(seed)
        problem = with_times(random_problem(random, 6, 4), random)
        if not any(block.cache_bytes_per_token for block in problem.blocks):
            continue
        if solve(problem, objectives_named(wanted), effort).outcome is Outcome.OPTIMAL:
            compared += 1
            first, second = (bytes_of(problem, wanted, effort, exact=exact) for exact in (True, False))

            assert first.replace("exact search", "cp-sat") == second
    assert compared > 10

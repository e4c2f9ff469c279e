"""A plan audited again from its own inputs, trusting none of its results.

The problem is read from the document, the stages are taken as names alone, and every figure is computed anew; what the
document says otherwise is a finding. Values are checked; proofs are taken as claims unless they are proved again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec

from solver.bounds import BOUNDS
from solver.cluster_document import cluster_from_document
from solver.errors import InputError
from solver.limits import NO_LIMITS, Limits
from solver.objectives import Objective, Sense, objectives_named
from solver.plan import ASSUMED_IMBALANCE
from solver.problem import Placement, Problem, Stage
from solver.problem_file import problem_from_document
from solver.projection import check_of, pools_of, seams_of, stages_of, transfers_of
from solver.provers import provers_for
from solver.report.plan_json import (
    PLAN_SCHEMA,
    check_document,
    instance_sha256,
    pool_document,
    seam_document,
    shown,
    stage_document,
    transfer_document,
)
from solver.rules import violations
from solver.solve import Outcome, Solution, solve

if TYPE_CHECKING:
    from pathlib import Path

    from solver.cluster import ClusterNode
    from solver.effort import Effort
    from tensors.inventory import Inventory

__all__ = ["Claim", "Finding", "claim_from_bytes", "findings", "read_claim", "reproved", "same_model"]


class _Stage(msgspec.Struct, frozen=True):
    start: int
    end: int
    node: str


class _Level(msgspec.Struct, frozen=True):
    name: str
    value: int | float
    bound: int | float | None
    proof: str


class _Inputs(msgspec.Struct, frozen=True):
    problem: dict[str, Any]
    cluster: dict[str, Any] | None
    instance_sha256: str
    header_sha256: str | None
    options: dict[str, Any]


class _Document(msgspec.Struct, frozen=True):
    schema: str
    inputs: _Inputs
    outcome: Outcome
    objective: tuple[_Level, ...]
    stages: tuple[_Stage, ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """A plan's document as read.

    Its problem, its placement as names (None if it has none), and all that it says of them.
    """

    where: str
    problem: Problem
    nodes: dict[str, ClusterNode] | None
    outcome: Outcome
    objectives: tuple[Objective, ...]
    placement: Placement | None
    header_sha256: str | None
    said: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a plan says and that is not so."""

    place: str
    problem: str


def read_claim(path: Path) -> Claim:
    """Return what a plan's file claims.

    Raises:
        InputError: the file cannot be read or is no plan.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            path.name, f"{error.strerror or error}; expected a {PLAN_SCHEMA} document. Check the path."
        ) from None
    return claim_from_bytes(content, path.name)


def claim_from_bytes(content: bytes, where: str) -> Claim:
    """Return what a plan's JSON claims; `where` names it in errors.

    Raises:
        InputError: it is no plan, or its inputs cannot be meant.
    """
    try:
        said = msgspec.json.decode(content)
        document = msgspec.convert(said, _Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(where, f"{error}; expected a {PLAN_SCHEMA} document. Write it with -o.") from None
    if document.schema != PLAN_SCHEMA:
        raise InputError(where, f'"{document.schema[:60]}" is not read; expected "{PLAN_SCHEMA}". Name a plan.')
    problem = problem_from_document(document.inputs.problem, f"{where}, inputs.problem")
    cluster = document.inputs.cluster
    machines = None if cluster is None else cluster_from_document(cluster, f"{where}, inputs.cluster").nodes
    named = document.inputs.options.get("objective")
    stages = tuple(Stage(stage.start, stage.end, stage.node) for stage in document.stages)
    return Claim(
        where=where,
        problem=problem,
        nodes=None if machines is None else {node.name: node for node in machines},
        outcome=document.outcome,
        objectives=objectives_named(named if isinstance(named, str) else ",".join(o.name for o in document.objective)),
        placement=Placement(stages) if stages else None,
        header_sha256=document.inputs.header_sha256,
        said=said,
    )


def findings(claim: Claim) -> tuple[Finding, ...]:
    """Return everything that the plan says and that its own inputs contradict; empty if it stands."""
    found = [*_instance(claim)]
    if claim.placement is None:
        if claim.outcome in (Outcome.OPTIMAL, Outcome.FEASIBLE):
            found.append(Finding("stages", f"none are given with the outcome {claim.outcome.value}"))
        return tuple(found)
    if claim.outcome not in (Outcome.OPTIMAL, Outcome.FEASIBLE):
        found.append(Finding("outcome", f"{claim.outcome.value} is said beside a placement"))
    broken = violations(claim.problem, claim.placement)
    found.extend(Finding(f"rule {violation.rule}", violation.witness) for violation in broken)
    if broken:
        return tuple(found)
    found.extend(_figures(claim, claim.placement))
    found.extend(_levels(claim, claim.placement))
    return tuple(found)


def reproved(claim: Claim, effort: Effort) -> tuple[Solution, tuple[Finding, ...]]:
    """Solve the plan's problem again by another method than the one it names, and compare.

    CP-SAT alone proves again what closed forms and the exact search proved; a proof by CP-SAT goes through every
    prover there is.
    """
    methods = {entry.get("proof") for entry in claim.said["objective"]}
    solution = solve(
        claim.problem, claim.objectives, effort, provers=provers_for(claim.problem, exact="cp-sat" in methods)
    )
    found: list[Finding] = []
    if solution.outcome is Outcome.UNKNOWN or (
        solution.outcome is Outcome.FEASIBLE and claim.outcome is Outcome.OPTIMAL
    ):
        found.append(Finding("proof", "not reached again within the limits"))
    elif (solution.placement is None) != (claim.placement is None):
        found.append(Finding("outcome", f"{claim.outcome.value} is said, {solution.outcome.value} is proved"))
    elif solution.outcome is Outcome.OPTIMAL:
        for level, entry in zip(solution.levels, claim.said["objective"], strict=True):
            if claim.outcome is Outcome.OPTIMAL and shown(level.value) != entry["value"]:
                found.append(
                    Finding(
                        f"objective {level.objective.name}", f"{entry['value']} is said, {shown(level.value)} is best"
                    )
                )
    return solution, tuple(found)


def same_model(claim: Claim, inventory: Inventory) -> tuple[Finding, ...]:
    """Return where a model that was read again differs from the one that the plan was made for."""
    found: list[Finding] = []
    if inventory.header_sha256 != claim.header_sha256:
        found.append(Finding("inputs.header_sha256", f"the model's headers hash to {inventory.header_sha256}"))
    blocks = inventory.blocks()[: len(claim.problem.blocks)]
    proper = [block.weight_bytes for block in blocks]
    if proper != [block.weight_bytes for block in claim.problem.blocks]:
        found.append(Finding("inputs.problem.blocks", "the weights of the blocks are not the model's"))
    return tuple(found)


def _instance(claim: Claim) -> list[Finding]:
    proper = instance_sha256(claim.problem)
    if claim.said["inputs"]["instance_sha256"] != proper:
        return [Finding("inputs.instance_sha256", f"the problem's own is {proper}")]
    return []


def _figures(claim: Claim, placement: Placement) -> list[Finding]:
    stages = stages_of(claim.problem, placement, claim.nodes)
    proper = {
        "stages": [stage_document(stage) for stage in stages],
        "pools": [pool_document(pool) for pool in pools_of(claim.problem, stages, claim.nodes)],
        "check": check_document(check_of(claim.problem, stages, ASSUMED_IMBALANCE)),
        "transfer": [transfer_document(transfer) for transfer in transfers_of(claim.problem, stages)],
        "seams": [
            seam_document(replace(seam, sideband_bytes_per_query=None))
            for seam in seams_of(claim.problem, stages, None)
        ],
    }
    said = {name: claim.said.get(name) for name in proper}
    if isinstance(said["seams"], list):
        # What an indexer hands on is a fact of the model, which the problem does not carry.
        said["seams"] = [{**seam, "sideband_bytes_per_query": None} for seam in said["seams"] if isinstance(seam, dict)]
    return [difference for name, value in proper.items() for difference in _differences(name, said[name], value)]


def _levels(claim: Claim, placement: Placement) -> list[Finding]:
    found: list[Finding] = []
    limits: Limits = NO_LIMITS
    entries = claim.said["objective"]
    if [objective.name for objective in claim.objectives] != [entry["name"] for entry in entries]:
        return [Finding("objective", "the entries are not those of inputs.options.objective")]
    for objective, entry in zip(claim.objectives, entries, strict=True):
        cost = objective.cost(claim.problem, placement)
        value = objective.value(cost)
        place = f"objective {objective.name}"
        if entry["value"] != shown(value):
            found.append(Finding(place, f"{entry['value']} is said, the placement has {shown(value)}"))
        if entry["bound"] is not None and _beyond(objective, shown(value), entry["bound"]):
            found.append(Finding(place, f"the value {shown(value)} is better than the bound {entry['bound']}"))
        if claim.outcome is Outcome.OPTIMAL and entry["bound"] != shown(value):
            found.append(Finding(place, f"optimal is said, and the bound is {entry['bound']}"))
        arithmetic = BOUNDS[objective.name](claim.problem, limits)
        if arithmetic is not None and entry["bound"] is not None:
            closed = shown(objective.value(arithmetic))
            if _beyond(objective, entry["bound"], closed):
                found.append(Finding(place, f"the bound {entry['bound']} is looser than the closed form's {closed}"))
        limits = objective.at_most(limits, cost)
    return found


def _beyond(objective: Objective, value: float, bound: float) -> bool:
    """Return whether a value is better than a bound on it."""
    return value < bound if objective.sense is Sense.MIN else value > bound


def _differences(place: str, said: object, proper: object) -> list[Finding]:
    if isinstance(proper, dict) and isinstance(said, dict) and said.keys() == proper.keys():
        return [
            finding for key, value in proper.items() for finding in _differences(f"{place}.{key}", said[key], value)
        ]
    if isinstance(proper, list) and isinstance(said, list) and len(said) == len(proper):
        pairs = enumerate(zip(said, proper, strict=True))
        return [finding for index, (one, other) in pairs for finding in _differences(f"{place}[{index}]", one, other)]
    return (
        [] if said == proper else [Finding(place, f"{_short(said)} is said, {_short(proper)} follows from the inputs")]
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"  # noqa: PLR2004 - a finding is one line

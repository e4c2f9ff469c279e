"""A plan audited again from its own inputs, trusting none of its results.

The problem is read from the document, the stages are taken as names alone, and every figure is computed anew; what the
document says otherwise is a finding. Values are checked; proofs are taken as claims unless they are proved again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from solver.finding import Finding, differences, short
from solver.objectives import Sense
from solver.planning import ASSUMED_IMBALANCE
from solver.pool_loads import place_of, pools_of
from solver.projection import check_of, seams_of, stages_of, transfers_of
from solver.provers import ConstraintSolver, provers_for
from solver.recheck_cluster import cluster_findings
from solver.recheck_levels import level_findings, unreached_findings
from solver.recheck_weights import are_weights_of
from solver.report.plan_json import (
    PROOFS,
    check_document,
    instance_sha256,
    pool_document,
    seam_document,
    shown,
    stage_document,
    transfer_document,
)
from solver.rules import violations
from solver.solution import Outcome, Solution
from solver.solve import solve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.claim import Claim
    from solver.effort import Effort
    from solver.problem import Placement, Problem
    from solver.provers import Prover
    from tensors.inventory import Inventory

__all__ = ["Finding", "Reproof", "findings", "reproved", "same_model"]

_SIDEBAND = "sideband_bytes_per_query"

# What a document says where there is no placement.
_NO_ANSWER: dict[str, Any] = {
    "proof": None,
    "objective": [],
    "stages": [],
    "pools": [],
    "check": check_document(None),
    "seams": [],
    "transfer": [],
}


@dataclass(frozen=True, slots=True)
class Reproof:
    """What solving a plan's problem again showed. `reached` says that all it calls proved was proved again."""

    solution: Solution
    reached: bool
    findings: tuple[Finding, ...]


def findings(claim: Claim) -> tuple[Finding, ...]:
    """Return everything that the plan says and that its own inputs contradict; empty if it stands."""
    found = [*_input_findings(claim)]
    if claim.placement is None:
        if claim.outcome in (Outcome.OPTIMAL, Outcome.FEASIBLE):
            found.append(Finding("stages", f"none are given with the outcome {claim.outcome.value}"))
        if claim.outcome is not Outcome.UNKNOWN:
            return (*found, *_differences(claim, _NO_ANSWER))
        found.extend(_differences(claim, _NO_ANSWER | {"proof": PROOFS[-1], "objective": claim.said["objective"]}))
        return (*found, *unreached_findings(claim.problem, claim.objectives, claim.said["objective"]))
    if claim.outcome not in (Outcome.OPTIMAL, Outcome.FEASIBLE):
        found.append(Finding("outcome", f"{claim.outcome.value} is said beside a placement"))
    broken = violations(claim.problem, claim.placement)
    found.extend(Finding(f"rule {violation.rule}", violation.witness) for violation in broken)
    if broken or not _machines_match(claim):
        return tuple(found)
    found.extend(_figures(claim, claim.placement))
    optimal = claim.outcome is Outcome.OPTIMAL
    entries = claim.said["objective"]
    found.extend(level_findings(claim.problem, claim.objectives, claim.placement, entries, optimal=optimal))
    return tuple(found)


def reproved(claim: Claim, effort: Effort) -> Reproof:
    """Solve the plan's problem again by another method than the one it names, and compare.

    CP-SAT alone proves again what closed forms and the exact search proved; a proof by CP-SAT goes through every
    prover there is. With replicas the search by sets proves again what others proved, and they what it proved. One node
    of every step makes a chain, so that CP-SAT proves again that there is none.
    """
    problem = claim.problem
    if problem.rules.replicas and claim.outcome is Outcome.INFEASIBLE:
        problem = replace(problem, rules=replace(problem.rules, replicas=False))
    methods = {entry.get("proof") for entry in claim.said["objective"]}
    solution = solve(problem, claim.objectives, effort, provers=_others(problem, methods, claim.placement))
    proved = (Outcome.OPTIMAL, Outcome.INFEASIBLE)
    reached = claim.outcome not in proved or solution.outcome in proved
    return Reproof(solution, reached, tuple(_contradictions(claim, solution)))


def _others(problem: Problem, methods: set[object], known: Placement | None) -> tuple[Prover, ...]:
    """Return provers by another method than those that proved a plan."""
    every = provers_for(problem)
    if problem.rules.replicas:
        from solver.sets.prover import SetSearch  # noqa: PLC0415 - NumPy tables that others do not need

        by_sets = SetSearch.name in methods
        return tuple(prover for prover in every if prover.name != SetSearch.name) if by_sets else (SetSearch(known),)
    return every if ConstraintSolver.name in methods else (ConstraintSolver(),)


def _contradictions(claim: Claim, solution: Solution) -> Iterator[Finding]:
    """Yield where what is proved or found now is not what the plan says."""
    if claim.outcome is Outcome.INFEASIBLE and solution.placement is not None:
        yield Finding("outcome", "infeasible is said, and there is a placement")
    if claim.placement is not None and solution.outcome is Outcome.INFEASIBLE:
        yield Finding("outcome", f"{claim.outcome.value} is said, infeasible is proved")
    for level, entry in zip(solution.levels, claim.said["objective"], strict=False):
        objective, value, place = level.objective, shown(level.value), f"objective {level.objective.name}"
        if objective.name != entry["name"]:
            return
        known = entry["value"] is not None
        if known and objective.better(value, entry["value"]) and claim.outcome is Outcome.OPTIMAL:
            yield Finding(place, f"{short(entry['value'])} is called optimal, {value} is better")
        if entry["bound"] is not None and objective.better(value, entry["bound"]):
            side = "above" if objective.sense is Sense.MIN else "below"
            yield Finding(place, f"the bound {short(entry['bound'])} is {side} {value}, which is reached")
        if known and level.proof != "none" and objective.better(entry["value"], value):
            yield Finding(place, f"{short(entry['value'])} is said, and {value} is the best there is")
        if value != entry["value"]:
            # What comes after answers another question.
            return


def same_model(claim: Claim, inventory: Inventory) -> tuple[Finding, ...]:
    """Return where a model that was read again differs from the one that the plan was made for."""
    found: list[Finding] = []
    if inventory.header_sha256 != claim.header_sha256:
        found.append(Finding("inputs.header_sha256", f"the model's headers hash to {inventory.header_sha256}"))
    weights = tuple(block.weight_bytes for block in claim.problem.blocks[: claim.problem.block_count])
    if not are_weights_of(inventory, weights, claim.engine, claim.width):
        found.append(Finding("inputs.problem.blocks", "the weights of the blocks are not the model's"))
    if claim.placement is not None and not violations(claim.problem, claim.placement) and _machines_match(claim):
        stages = stages_of(claim.problem, claim.placement, claim.nodes)
        seams = [seam_document(seam) for seam in seams_of(claim.problem, stages, inventory.architecture)]
        found.extend(differences("seams", claim.said.get("seams"), seams))
    return tuple(found)


def _input_findings(claim: Claim) -> Iterator[Finding]:
    """Yield where the inputs contradict each other."""
    proper = instance_sha256(claim.problem)
    if claim.said["inputs"]["instance_sha256"] != proper:
        yield Finding("inputs.instance_sha256", f"the problem's own is {proper}")
    if not _machines_match(claim):
        yield Finding("inputs.cluster", "its nodes are not those of inputs.problem")
    elif claim.cluster is not None:
        yield from cluster_findings(claim.problem, claim.cluster, claim.engine, claim.width, claim.excluded)


def _machines_match(claim: Claim) -> bool:
    if claim.nodes is None:
        return True
    names = list(dict.fromkeys(node.machine or node.name for node in claim.problem.nodes))
    try:
        for node in claim.problem.nodes:
            place_of(node, claim.nodes)
    except KeyError:
        return False
    # What has devices leaves out machines that it cannot use.
    is_free = claim.is_of_engine or not claim.problem.is_plain
    kept = [name for name in claim.nodes if name in names] if is_free else list(claim.nodes)
    return kept == names


def _figures(claim: Claim, placement: Placement) -> Iterator[Finding]:
    stages = stages_of(claim.problem, placement, claim.nodes)
    proofs = [entry["proof"] for entry in claim.said["objective"] if entry["proof"] in PROOFS]
    seams = [seam_document(seam) for seam in seams_of(claim.problem, stages, None)]
    if claim.header_sha256 is not None:
        # What an indexer hands on is a fact of the model, which the problem does not carry.
        seams = _with_sidebands(seams, claim.said.get("seams"))
    proper = {
        "proof": max(proofs, key=PROOFS.index, default=None),
        "stages": [stage_document(stage) for stage in stages],
        "pools": [pool_document(pool) for pool in pools_of(claim.problem, placement, claim.nodes)],
        "check": check_document(check_of(claim.problem, stages, ASSUMED_IMBALANCE)),
        "transfer": [transfer_document(transfer) for transfer in transfers_of(claim.problem, stages)],
        "seams": seams,
    }
    yield from _differences(claim, proper)


def _with_sidebands(seams: list[dict[str, Any]], said: object) -> list[dict[str, Any]]:
    """Return seams with the sidebands that a document gives them, where it has as many."""
    if not isinstance(said, list) or len(said) != len(seams):
        return seams
    return [
        {**seam, _SIDEBAND: other.get(_SIDEBAND)} if isinstance(other, dict) else seam
        for seam, other in zip(seams, said, strict=True)
    ]


def _differences(claim: Claim, proper: dict[str, Any]) -> Iterator[Finding]:
    for name, value in proper.items():
        yield from differences(name, claim.said.get(name), value)

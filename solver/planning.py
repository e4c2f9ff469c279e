"""A plan: a placement with its inputs, outcome, proof and audit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from solver.conflict import NO_RULES
from solver.effort import Effort, Progress, silent
from solver.objectives import Objective, objectives_named
from solver.pool_loads import pools_of
from solver.projection import check_of, seams_of, stages_of, transfers_of
from solver.reasons import reasons_why_infeasible
from solver.solution import Outcome, Solution
from solver.solve import solve
from solver.wording import counted
from solver.workload import USUAL_CHOICES
from tensors.units import format_bytes

if TYPE_CHECKING:
    from solver.closed_form import PlanCheck
    from solver.cluster import Cluster, ClusterNode
    from solver.engines.servers.build import ServedProblem
    from solver.pool_loads import PoolLoad
    from solver.problem import Placement, Problem
    from solver.projection import PlanStage, Seam, Transfer
    from solver.suggestions import Variants
    from solver.workload import Choices, Workload
    from tensors.inventory import Inventory

__all__ = ["ASSUMED_IMBALANCE", "DEFAULT_EFFORT", "Plan", "Setting", "plan", "project"]

DEFAULT_EFFORT = Effort(time_limit_seconds=60.0, deterministic_limit=None, workers=8, seed=0)

# What people assume the fullest node to carry over an even share.
ASSUMED_IMBALANCE = Fraction(11, 10)


@dataclass(frozen=True, slots=True)
class Setting:
    """What stands behind a problem that was built from a model.

    The model, the machines, the request, the engine and its notes. `build` is whose rules the engine's are and `served`
    what figures of its ranks are made from; None for an engine that has none. `choices` are what it was free to do.
    """

    inventory: Inventory
    cluster: Cluster
    workload: Workload
    engine: str
    notes: tuple[str, ...]
    build: str | None
    served: ServedProblem | None
    choices: Choices = USUAL_CHOICES

    @property
    def nodes(self) -> dict[str, ClusterNode]:
        """Return the machines under their names."""
        return {node.name: node for node in self.cluster.nodes}


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that is known about one question.

    Stages, pools, seams and transfers are empty unless there is a placement. `check` is None where
    there is none or where nothing is loaded; `setting` is None for an abstract problem.
    """

    problem: Problem
    setting: Setting | None
    solution: Solution
    stages: tuple[PlanStage, ...]
    pools: tuple[PoolLoad, ...]
    check: PlanCheck | None
    seams: tuple[Seam, ...]
    transfers: tuple[Transfer, ...]
    reasons: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def outcome(self) -> Outcome:
        """Return how the question ended."""
        return self.solution.outcome


def plan(
    problem: Problem,
    objectives: tuple[Objective, ...] | str = "nodes,balance",
    limits: Effort = DEFAULT_EFFORT,
    *,
    setting: Setting | None = None,
    variants: Variants | None = None,
    progress: Progress = silent,
) -> Plan:
    """Place a problem: the best placement for the objectives in order of importance, proved as far as the limits allow.

    `setting` is what stands behind the problem, `variants` build it again with one setting changed: where nothing fits,
    they are what suggestions try out.

    Raises:
        InputError: an objective is unknown.
        AuditError: an answer of a solver breaks the rules.
    """
    wanted = objectives_named(objectives) if isinstance(objectives, str) else objectives
    solution = solve(problem, wanted, limits, progress)
    reasons: tuple[str, ...] = ()
    if solution.outcome is Outcome.INFEASIBLE:
        try:
            reasons = reasons_why_infeasible(_on_single_nodes(problem), variants, limits)
        except KeyboardInterrupt:
            solution = replace(solution, interrupted=True)
            reasons = ("No placement exists; the search for the reason was interrupted.",)
    return _plan_of(problem, setting, solution, reasons)


def _plan_of(problem: Problem, setting: Setting | None, solution: Solution, reasons: tuple[str, ...]) -> Plan:
    if solution.placement is None:
        notes = () if setting is None else setting.notes
        return Plan(problem, setting, solution, (), (), None, (), (), reasons, notes)
    return project(problem, setting, solution, solution.placement)


def project(problem: Problem, setting: Setting | None, solution: Solution, placement: Placement) -> Plan:
    """Return the plan of a placement, every figure recomputed."""
    nodes = None if setting is None else setting.nodes
    stages = stages_of(problem, placement, nodes)
    check = check_of(problem, stages, ASSUMED_IMBALANCE)
    return Plan(
        problem=problem,
        setting=setting,
        solution=solution,
        stages=stages,
        pools=pools_of(problem, placement, nodes),
        check=check,
        seams=seams_of(problem, stages, None if setting is None else setting.inventory.architecture),
        transfers=transfers_of(problem, stages),
        reasons=(),
        notes=(
            *(() if setting is None else setting.notes),
            *_more_than_minimum(problem, solution, check),
            *_one_of_equals(solution),
            *_shared(stages),
        ),
    )


def _on_single_nodes(problem: Problem) -> Problem:
    """Return a problem without replicas, which has no placement either where this one has none."""
    return replace(problem, rules=replace(problem.rules, replicas=False)) if problem.rules.replicas else problem


def _shared(stages: tuple[PlanStage, ...]) -> tuple[str, ...]:
    """Return a sentence on replicas and chains, where there are any."""
    chains = 1 + max(stage.chain for stage in stages)
    replicas = [stage for stage in stages if stage.role == "replica"]
    runs = {(stage.chain, stage.start) for stage in replicas}
    side = () if chains == 1 else (f"{counted(chains, 'chain')} side by side hold all blocks each.",)
    shared = f"{counted(len(replicas), 'node')} hold {counted(len(runs), 'stage')} together and share the tokens."
    return (*side, shared) if replicas else side


def _one_of_equals(solution: Solution) -> tuple[str, ...]:
    """Return a sentence that says so where equal questions may get another placement of the same values."""
    if solution.outcome is not Outcome.OPTIMAL or solution.canonical:
        return ()
    return ("The values are proved; the time ran out before the one placement among equals was settled.",)


def _more_than_minimum(problem: Problem, solution: Solution, check: PlanCheck | None) -> tuple[str, ...]:
    """Return a sentence that says why more nodes are used than arithmetic asks for, where that is so and is known."""
    if check is None or check.minimum_nodes is None or check.nodes_used <= check.minimum_nodes:
        return ()
    if not solution.levels or solution.levels[0].objective.name != "nodes" or problem.rules != NO_RULES:
        return ()
    largest = max(range(len(problem.items)), key=lambda index: problem.items[index].load_bytes)
    size = format_bytes(problem.items[largest].load_bytes)
    sentence = (
        f"Arithmetic asks for {counted(check.minimum_nodes, 'node')} and the plan uses {check.nodes_used}: "
        f"blocks do not divide, and the largest ({problem.item_name(largest)}) takes {size}."
    )
    return (sentence,)

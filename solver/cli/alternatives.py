"""What a problem cannot hold both ways, planned each way: the width of all ranks, and the head of a run over RPC.

Every alternative is solved in its part of the time and the best is kept: the earlier of equals.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from solver.cli.inputs import cluster_of
from solver.cli.progress import shown_progress
from solver.cli.question import question_of
from solver.errors import InputError
from solver.objectives import objectives_named
from solver.problem_file import checked
from solver.solution import Outcome
from solver.solve import solve
from solver.wording import counted, several
from solver.workload import EngineName, Offload

if TYPE_CHECKING:
    from solver.cli.question import Question
    from solver.cli.reading import ReadOptions
    from solver.cli.search_flags import ObjectiveOptions, RuleOptions
    from solver.cli.shared_flags import ClusterOptions, EngineOptions, ProblemOptions, WorkloadOptions
    from solver.effort import Effort
    from solver.planning import Setting
    from solver.solution import Solution

__all__ = ["best_question"]

_MOST_HEADS = 8
_WHERE = "layerfit plan"

Asked = tuple[
    "str | None",
    "ReadOptions",
    "ClusterOptions",
    "ProblemOptions",
    "WorkloadOptions",
    "EngineOptions",
    "RuleOptions",
]


def best_question(asked: Asked, objective: ObjectiveOptions, effort: Effort, *, quiet: bool) -> Question:
    """Return what is asked, or of several ways that it could be meant the one whose plan is best.

    Raises:
        UsageError, InputError, TensorsError: as for `question_of`; of several ways, where none can be asked.
    """
    engine = asked[5]
    if engine.chooses_width:
        ways = _widths(asked)
        return _best(ways, "Ranks of {} are the best width", objective, effort, quiet=quiet)
    question = question_of(*asked)
    ways = _heads(question)
    if not ways:
        return question
    return _best(ways, "{} is the head, where llama.cpp is started: the best", objective, effort, quiet=quiet)


def _widths(asked: Asked) -> dict[str, Question]:
    """Return the question for every width that model and cards allow."""
    model, reading, cluster, problem, workload, engine, rules = asked
    machines = cluster_of(cluster, "plan", has_model=model is not None)
    widest = max((group.count for node in machines.nodes for group in node.gpus), default=1)
    ways: dict[str, Question] = {}
    for width in range(1, widest + 1):
        of_width = replace(engine, tensor_parallel=width)
        try:
            ways[counted(width, "card")] = question_of(model, reading, cluster, problem, workload, of_width, rules)
        except InputError:
            if width == widest and not ways:
                raise
    return ways


def _heads(question: Question) -> dict[str, Question]:
    """Return the question for every machine that could be the head, where that decides what may stay with a host."""
    setting = question.setting
    if setting is None or not _leaves_head_open(question, setting):
        return {}
    used = {node.machine or node.name for node in question.problem.nodes}
    nodes = setting.cluster.nodes
    names = [node.name for node in nodes if node.name in used and node.gpus and not node.unified]
    if len(used) == 1 or len(names) > _MOST_HEADS:
        return {}
    ways = {}
    for name in names:
        try:
            ways[name] = _with_head(question, setting, name)
        except InputError:
            # Its memory has no room for what a head holds.
            continue
    return ways


def _leaves_head_open(question: Question, setting: Setting) -> bool:
    if setting.engine != EngineName.LLAMACPP.value or question.variants is None:
        return False
    if question.variants.rules.first is not None or any(node.head for node in setting.cluster.nodes):
        return False
    experts = any(block.expert_bytes for block in setting.inventory.blocks())
    offload = setting.choices.offload
    return offload is Offload.FFN or (offload is Offload.EXPERTS and experts)


def _with_head(question: Question, setting: Setting, name: str) -> Question:
    variants = question.variants
    if variants is None:
        return question
    nodes = tuple(replace(node, head=node.name == name) for node in setting.cluster.nodes)
    cluster = replace(setting.cluster, nodes=nodes)
    placed = variants.build(variants.inventory, cluster, variants.workload, variants.rules, variants.choices)
    return replace(
        question,
        problem=checked(placed.problem, _WHERE),
        setting=replace(setting, cluster=cluster, notes=placed.notes),
        variants=replace(variants, cluster=cluster),
    )


def _best(
    ways: dict[str, Question], sentence: str, objective: ObjectiveOptions, effort: Effort, *, quiet: bool
) -> Question:
    found: dict[str, Solution] = {}
    share = replace(effort, time_limit_seconds=effort.time_limit_seconds / (len(ways) + 1))
    for way, question in ways.items():
        wanted = objectives_named(",".join(objective.names(question.problem)))
        with shown_progress(quiet=quiet) as progress:
            found[way] = solve(question.problem, wanted, share, progress)
    placed = [way for way, solution in found.items() if solution.placement is not None]
    if not placed:
        return next(iter(ways.values()))
    best = min(placed, key=lambda way: _costs(found[way], ways[way]))
    return _noted(ways[best], sentence.format(best), best, found)


def _costs(solution: Solution, question: Question) -> tuple[Fraction, ...]:
    placement = solution.placement
    if placement is None:
        return ()
    return tuple(Fraction(level.objective.cost(question.problem, placement)) for level in solution.levels)


def _noted(question: Question, sentence: str, best: str, found: dict[str, Solution]) -> Question:
    """Return the question with a note on what it was held against."""
    if question.setting is None:
        return question
    others = [way for way in found if way != best]
    decided = all(solution.outcome in (Outcome.OPTIMAL, Outcome.INFEASIBLE) for solution in found.values())
    note = f"{sentence}, held against {several(others)}" if others else f"{sentence}: there is no other"
    note += "." if decided else "; not all of them were decided in their part of the time."
    return replace(question, setting=replace(question.setting, notes=(*question.setting.notes, note)))

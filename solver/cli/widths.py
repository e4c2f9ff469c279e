"""The best width of ranks for an engine whose ranks are all of one width: each is planned, and the best one kept."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from solver.cli.inputs import cluster_of
from solver.cli.progress import shown_progress
from solver.cli.question import question_of
from solver.errors import InputError
from solver.objectives import objectives_named
from solver.solve import Outcome, solve
from solver.wording import several

if TYPE_CHECKING:
    from solver.cli.options import ClusterOptions, EngineOptions, ProblemOptions, WorkloadOptions
    from solver.cli.question import Question
    from solver.cli.reading import ReadOptions
    from solver.cli.search_options import ObjectiveOptions, RuleOptions
    from solver.effort import Effort
    from solver.solve import Solution

__all__ = ["question_of_best_width"]

Asked = tuple[
    "str | None",
    "ReadOptions",
    "ClusterOptions",
    "ProblemOptions",
    "WorkloadOptions",
    "EngineOptions",
    "RuleOptions",
]


def question_of_best_width(asked: Asked, objective: ObjectiveOptions, effort: Effort, *, quiet: bool) -> Question:
    """Return the question with the width whose plan is best, the narrower of equals; each has its part of the time.

    Raises:
        UsageError, InputError, TensorsError: as for `question_of`, of the narrowest width where none can be asked.
    """
    model, reading, cluster, problem, workload, engine, rules = asked
    machines = cluster_of(cluster, "plan", has_model=model is not None)
    widest = max((group.count for node in machines.nodes for group in node.gpus), default=1)
    questions: dict[int, Question] = {}
    for width in range(1, widest + 1):
        of_width = replace(engine, tensor_parallel=width)
        try:
            questions[width] = question_of(model, reading, cluster, problem, workload, of_width, rules)
        except InputError:
            if width == widest and not questions:
                raise
    found: dict[int, Solution] = {}
    share = replace(effort, time_limit_seconds=effort.time_limit_seconds / (len(questions) + 1))
    for width, question in questions.items():
        wanted = objectives_named(",".join(objective.names(question.problem)))
        with shown_progress(quiet=quiet) as progress:
            found[width] = solve(question.problem, wanted, share, progress)
    placed = [width for width, solution in found.items() if solution.placement is not None]
    if not placed:
        return questions[min(questions)]
    best = min(placed, key=lambda width: _costs(found[width], questions[width]))
    return _noted(questions[best], best, found)


def _costs(solution: Solution, question: Question) -> tuple[Fraction, ...]:
    placement = solution.placement
    if placement is None:
        return ()
    return tuple(Fraction(level.objective.cost(question.problem, placement)) for level in solution.levels)


def _noted(question: Question, best: int, found: dict[int, Solution]) -> Question:
    """Return the question with a note on the widths it was held against."""
    if question.setting is None:
        return question
    others = [str(width) for width in found if width != best]
    decided = all(solution.outcome in (Outcome.OPTIMAL, Outcome.INFEASIBLE) for solution in found.values())
    note = f"Ranks of {best} card(s) are the best width"
    note += f", held against {several(others)}" if others else ": the cards and the heads allow no other"
    note += "." if decided else "; not all of them were decided in their part of the time."
    return replace(question, setting=replace(question.setting, notes=(*question.setting.notes, note)))

"""Plans of an engine whose devices compute in memory of their own: solved until the cut holds no more than set aside.

What is set aside is raised to what the found cut holds. A longer context that objective `context` finds has it sized
for that context.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from solver.cli.export import runs_of
from solver.effort import Clock
from solver.engines.llamacpp.export import emulated_of
from solver.engines.llamacpp.held import with_more_held
from solver.longer_context import longest_context
from solver.planning import plan
from solver.workload import EngineName

if TYPE_CHECKING:
    from solver.cli.question import Question
    from solver.effort import Effort, Progress
    from solver.engines.llamacpp.export import Emulated
    from solver.objectives import Objective
    from solver.planning import Plan, Setting
    from solver.problem import Problem

__all__ = ["Sized", "sized_plan"]

_MOST_ROUNDS: Final = 12


@dataclass(frozen=True, slots=True)
class Sized:
    """A plan, and what its cut holds as it is typed; None for another engine, or where there is nothing to type."""

    plan: Plan
    emulated: Emulated | None


def sized_plan(question: Question, wanted: tuple[Objective, ...], effort: Effort, progress: Progress) -> Sized:
    """Return the plan of a question.

    Raises:
        InputError, AuditError: as for `solver.planning.plan`.
    """
    setting, problem = question.setting, question.problem
    clock = Clock(effort)
    if setting is None or setting.engine != EngineName.LLAMACPP.value:
        answer = plan(problem, wanted, effort, setting=setting, variants=question.variants, progress=progress)
        return Sized(answer, None)
    if question.variants is not None and any(objective.name == "context" for objective in wanted):
        problem = longest_context(problem, wanted, question.variants.with_context, clock, progress)
    # Every round is asked as the first is: which method answers shall not depend on the time that others took.
    answer = plan(problem, wanted, effort, setting=setting, variants=question.variants, progress=progress)
    for _ in range(_MOST_ROUNDS):
        raised = _raised(answer, setting)
        if raised is None or clock.spent:
            break
        answer = plan(raised, wanted, effort, setting=setting, variants=question.variants, progress=progress)
    return Sized(answer, _emulated(answer, setting, setting.workload.context_tokens))


def _raised(answer: Plan, setting: Setting) -> Problem | None:
    """Return the problem with more set aside, where the cut of its plan holds more than it has."""
    placement = answer.solution.placement
    found = [int(level.value) for level in answer.solution.levels if level.objective.name == "context"]
    emulated = _emulated(answer, setting, max([setting.workload.context_tokens, *found]))
    return None if placement is None or emulated is None else with_more_held(answer.problem, placement, emulated)


def _emulated(answer: Plan, setting: Setting, context_tokens: int) -> Emulated | None:
    if not answer.stages:
        return None
    workload = replace(setting.workload, context_tokens=context_tokens)
    runs = runs_of(answer.stages)
    return emulated_of(runs, setting.cluster, workload, setting.inventory, setting.choices.offload)

"""Why nothing fits, and the nearest thing that would: each reason can be checked, each suggestion has been solved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from solver.bounds import largest_item_bytes
from solver.effort import Clock, Effort
from solver.measures import stage_load
from solver.objectives import OBJECTIVES
from solver.problem import Block, Node, Rules
from solver.solve import Outcome, Solution, solve
from tensors.units import format_bytes

if TYPE_CHECKING:
    from solver.problem import Problem

__all__ = ["reasons_why_infeasible"]

_NO_RULES = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)
_CONTEXT_STEP = 256
_SECONDS_EACH = 3.0
_SECONDS_IN_ALL = 15.0


@dataclass(frozen=True, slots=True)
class _Trials:
    """Problems near the one that has no placement, each solved for a short while, all within one clock."""

    clock: Clock

    def solve(self, problem: Problem, objective: str) -> Solution:
        """Return what is found out about a problem in a little time.

        Raises:
            KeyboardInterrupt: an interrupt ended the search.
        """
        left = min(_SECONDS_EACH, self.clock.seconds_left)
        solution = solve(problem, (OBJECTIVES[objective],), replace(self.clock.effort, time_limit_seconds=left))
        if solution.interrupted:
            raise KeyboardInterrupt
        return solution

    def fits(self, problem: Problem) -> bool:
        """Return whether a placement was found."""
        return self.solve(problem, "nodes").placement is not None


def reasons_why_infeasible(problem: Problem, effort: Effort) -> tuple[str, ...]:
    """Return sentences that say why no placement exists, then what smallest changes would allow one.

    Raises:
        KeyboardInterrupt: an interrupt ended the search for them.
    """
    trials = _Trials(Clock(replace(effort, time_limit_seconds=min(effort.time_limit_seconds, _SECONDS_IN_ALL))))
    if not problem.classes:
        return ("No node may take a block: every node is excluded or has no budget after its reserve.",)
    without_rules = replace(problem, rules=_NO_RULES)
    bare = _without_forbidden(without_rules)
    for culprit, looser in (
        ("The rules asked for leave", without_rules),
        ("The forbidden links leave", _without_forbidden(problem)),
        ("The rules asked for and the forbidden links together leave", bare),
    ):
        if looser != problem and trials.fits(looser):
            return (f"{culprit} no placement; without them the model fits.", *_fitting_changes(problem, trials))
    return (*_shortage(bare, trials, proved=bare == problem), *_fitting_changes(problem, trials))


def _shortage(problem: Problem, trials: _Trials, *, proved: bool) -> tuple[str, ...]:
    """Return why a problem without rules has no placement; `proved` says that the search itself has shown it."""
    heaviest = problem.total_bytes if len(problem.items) == 1 else largest_item_bytes(problem)
    budgets = [member.budget_bytes for group in problem.classes for member in group.members]
    if heaviest > max(budgets):
        index = max(range(len(problem.items)), key=lambda item: problem.items[item].load_bytes)
        node = max(problem.nodes, key=lambda candidate: candidate.budget_bytes)
        sentence = (
            f"Block {index} with what belongs to it takes {_exact(heaviest)}, "
            f"more than the largest budget, {_exact(node.budget_bytes)} on {node.name}."
        )
        return (sentence,)
    short = problem.total_bytes - sum(budgets)
    if short > 0:
        held, needed = _exact(sum(budgets)), _exact(problem.total_bytes)
        return (f"The budgets together hold {held} and the model needs {needed}: short by {_exact(short)}.",)
    room = f"The budgets together hold {_exact(-short)} more than the model needs"
    if not proved and trials.solve(problem, "nodes").outcome is not Outcome.INFEASIBLE:
        return (f"{room}; which rules or links leave no placement could not be told in a short time.",)
    sentence = f"{room}, but blocks do not divide and no order of the nodes takes them all."
    return (sentence, *_near_miss(problem, trials))


def _near_miss(problem: Problem, trials: _Trials) -> tuple[str, ...]:
    """Return the placement that overfills the budgets by the smallest share, as a sentence."""
    scale = 2
    grown = replace(
        problem, nodes=tuple(replace(node, budget_bytes=node.budget_bytes * scale) for node in problem.nodes)
    )
    solution = trials.solve(grown, "balance")
    if solution.placement is None:
        return ()
    over = Fraction(solution.levels[0].value) * scale - 1
    worst = max(
        solution.placement.stages,
        key=lambda stage: Fraction(stage_load(grown, stage).load_bytes, stage_load(grown, stage).budget_bytes),
    )
    load = stage_load(problem, worst)
    proved = solution.outcome is Outcome.OPTIMAL
    # Rounded up, so that budgets which grow by what is shown are enough.
    hundredths = ceil(over * 10_000)
    sentence = (
        f"The nearest miss{'' if proved else ' found'} puts {_exact(load.load_bytes)} on {worst.node}, "
        f"{_exact(load.load_bytes - load.budget_bytes)} above its budget: every budget would have to be "
        f"{'' if proved else 'at most '}{hundredths // 100}.{hundredths % 100:02} % larger."
    )
    return (sentence,)


def _fitting_changes(problem: Problem, trials: _Trials) -> tuple[str, ...]:
    found = (_fewer_tokens(problem, trials), _one_more_node(problem, trials))
    return tuple(sentence for sentence in found if sentence is not None)


def _fewer_tokens(problem: Problem, trials: _Trials) -> str | None:
    """Return the longest shorter context that fits, as a sentence, where the caches say how they grow."""
    context = problem.context_tokens
    if context is None or any(block.cache_bytes_per_token is None for block in problem.blocks):
        return None
    low, high = 0, (context - 1) // _CONTEXT_STEP
    if high < 1 or not trials.fits(_with_context(problem, _CONTEXT_STEP)):
        return None
    low = 1
    while low < high:
        middle = (low + high + 1) // 2
        if trials.fits(_with_context(problem, middle * _CONTEXT_STEP)):
            low = middle
        else:
            high = middle - 1
    return f"With a context of {low * _CONTEXT_STEP} tokens a sequence in place of {context} it fits."


def _with_context(problem: Problem, context_tokens: int) -> Problem:
    def at(block: Block) -> Block:
        growing = (block.cache_bytes_per_token or 0) * context_tokens
        return replace(block, cache_bytes=min(block.cache_fixed_bytes + growing, block.cache_bytes))

    return replace(problem, context_tokens=context_tokens, blocks=tuple(at(block) for block in problem.blocks))


def _one_more_node(problem: Problem, trials: _Trials) -> str | None:
    """Return the smallest kind of node of which one more is enough, as a sentence."""
    by_size = sorted(problem.classes, key=lambda group: group.budget_bytes)
    for group in by_size:
        member = group.members[0]
        taken = {node.name for node in problem.nodes}
        name = next(
            candidate for number in range(len(taken) + 1) if (candidate := f"{member.name}+{number}") not in taken
        )
        extra = Node(name, member.budget_bytes, member.bytes_per_second, member.stage_ns)
        if trials.fits(replace(problem, nodes=(*problem.nodes, extra))):
            return f"With one more node like {member.name}, with a budget of {_exact(member.budget_bytes)}, it fits."
    return None


def _without_forbidden(problem: Problem) -> Problem:
    allowed = tuple(pair for pair in problem.links.pairs if not pair.link.forbidden)
    return replace(problem, links=replace(problem.links, pairs=allowed))


def _exact(size_bytes: int) -> str:
    return f"{format_bytes(size_bytes)} ({size_bytes:,} bytes)" if size_bytes >= 1024 else format_bytes(size_bytes)  # noqa: PLR2004 - smaller sizes show exactly

"""Why nothing fits, and the nearest thing that would: each reason can be checked, each suggestion has been solved."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from solver.bounds import largest_item_bytes
from solver.measures import stage_load
from solver.objectives import OBJECTIVES
from solver.problem import Block, Node, Rules
from solver.solve import Outcome, Solution, solve
from tensors.units import format_bytes

if TYPE_CHECKING:
    from solver.effort import Effort
    from solver.problem import Problem

__all__ = ["reasons_why_infeasible"]

_NO_RULES = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)
_CONTEXT_STEP = 256
_NEAREST_SECONDS = 3.0


def reasons_why_infeasible(problem: Problem, effort: Effort) -> tuple[str, ...]:
    """Return sentences that say why no placement exists, then what smallest changes would allow one."""
    quick = replace(effort, time_limit_seconds=min(effort.time_limit_seconds, _NEAREST_SECONDS))
    if not problem.classes:
        return ("No node may take a block: every node is excluded or has no budget after its reserve.",)
    without_rules = replace(problem, rules=_NO_RULES)
    if problem.rules != _NO_RULES and _fits(without_rules, quick):
        return (
            "The rules asked for leave no placement; without them the model fits.",
            *_fitting_changes(problem, quick),
        )
    if problem.has_forbidden_links and _fits(_without_forbidden(problem), quick):
        return (
            "The forbidden links leave no placement; without them the model fits.",
            *_fitting_changes(problem, quick),
        )
    return (*_shortage(without_rules, quick), *_fitting_changes(problem, quick))


def _shortage(problem: Problem, effort: Effort) -> tuple[str, ...]:
    heaviest = largest_item_bytes(problem)
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
    sentence = (
        f"The budgets together hold {_exact(-short)} more than the model needs, but blocks do not divide "
        "and no order of the nodes takes them all."
    )
    return (sentence, *_near_miss(problem, effort))


def _near_miss(problem: Problem, effort: Effort) -> tuple[str, ...]:
    """Return the placement that overfills the budgets by the smallest share, as a sentence."""
    scale = 2
    grown = replace(
        problem, nodes=tuple(replace(node, budget_bytes=node.budget_bytes * scale) for node in problem.nodes)
    )
    solution = solve(grown, (OBJECTIVES["balance"],), effort)
    if solution.placement is None:
        return ()
    over = Fraction(solution.levels[0].value) * scale - 1
    worst = max(
        solution.placement.stages,
        key=lambda stage: Fraction(stage_load(grown, stage).load_bytes, stage_load(grown, stage).budget_bytes),
    )
    load = stage_load(problem, worst)
    least = "at least " if solution.outcome is not Outcome.OPTIMAL else ""
    sentence = (
        f"The nearest miss puts {_exact(load.load_bytes)} on {worst.node}, "
        f"{_exact(load.load_bytes - load.budget_bytes)} above its budget: every budget would have to be "
        f"{least}{float(over * 100):.2f} % larger."
    )
    return (sentence,)


def _fitting_changes(problem: Problem, effort: Effort) -> tuple[str, ...]:
    found = (_fewer_tokens(problem, effort), _one_more_node(problem, effort))
    return tuple(sentence for sentence in found if sentence is not None)


def _fewer_tokens(problem: Problem, effort: Effort) -> str | None:
    """Return the longest shorter context that fits, as a sentence, where the caches say how they grow."""
    context = problem.context_tokens
    if context is None or any(block.cache_bytes_per_token is None for block in problem.blocks):
        return None
    low, high = 0, (context - 1) // _CONTEXT_STEP
    if high < 1 or not _fits(_with_context(problem, _CONTEXT_STEP), effort):
        return None
    low = 1
    while low < high:
        middle = (low + high + 1) // 2
        if _fits(_with_context(problem, middle * _CONTEXT_STEP), effort):
            low = middle
        else:
            high = middle - 1
    return f"With a context of {low * _CONTEXT_STEP} tokens a sequence in place of {context} it fits."


def _with_context(problem: Problem, context_tokens: int) -> Problem:
    def at(block: Block) -> Block:
        growing = (block.cache_bytes_per_token or 0) * context_tokens
        return replace(block, cache_bytes=min(block.cache_fixed_bytes + growing, block.cache_bytes))

    return replace(problem, context_tokens=context_tokens, blocks=tuple(at(block) for block in problem.blocks))


def _one_more_node(problem: Problem, effort: Effort) -> str | None:
    """Return the smallest kind of node of which one more is enough, as a sentence."""
    by_size = sorted(problem.classes, key=lambda group: group.budget_bytes)
    for group in by_size:
        member = group.members[0]
        taken = {node.name for node in problem.nodes}
        name = next(
            candidate for number in range(len(taken) + 1) if (candidate := f"{member.name}+{number}") not in taken
        )
        extra = Node(name, member.budget_bytes, member.bytes_per_second, member.stage_ns)
        if _fits(replace(problem, nodes=(*problem.nodes, extra)), effort):
            return f"With one more node like {member.name}, with a budget of {_exact(member.budget_bytes)}, it fits."
    return None


def _without_forbidden(problem: Problem) -> Problem:
    allowed = tuple(pair for pair in problem.links.pairs if not pair.link.forbidden)
    return replace(problem, links=replace(problem.links, pairs=allowed))


def _fits(problem: Problem, effort: Effort) -> bool:
    solution: Solution = solve(problem, (OBJECTIVES["nodes"],), effort)
    return solution.placement is not None


def _exact(size_bytes: int) -> str:
    return f"{format_bytes(size_bytes)} ({size_bytes:,} bytes)" if size_bytes >= 1024 else format_bytes(size_bytes)  # noqa: PLR2004 - smaller sizes show exactly

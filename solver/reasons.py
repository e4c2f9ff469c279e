"""Why nothing fits, and the nearest thing that would: each reason can be checked, each suggestion has been solved."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

from solver.conflict import conflicting_rules, without_rules
from solver.effort import Clock, Effort
from solver.measures import stage_load
from solver.pool_loads import machine_budgets
from solver.solution import Outcome
from solver.suggestions import fitting_changes
from solver.trials import Trials
from solver.wording import exact_size

if TYPE_CHECKING:
    from solver.problem import Problem
    from solver.suggestions import Variants

__all__ = ["reasons_why_infeasible"]

_SECONDS_IN_ALL = 15.0


def reasons_why_infeasible(problem: Problem, variants: Variants | None, effort: Effort) -> tuple[str, ...]:
    """Return sentences that say why no placement exists, then what smallest single changes would allow one.

    `variants` build the problem again with a setting changed; None for an abstract problem.

    Raises:
        KeyboardInterrupt: an interrupt ended the search for them.
    """
    trials = Trials(Clock(replace(effort, time_limit_seconds=min(effort.time_limit_seconds, _SECONDS_IN_ALL))))
    bare = without_rules(problem)
    if bare != problem and trials.fits(bare):
        return (_conflict(problem, trials), *fitting_changes(problem, variants, trials))
    if not problem.classes:
        return (_no_node(problem), *fitting_changes(problem, variants, trials))
    return (*_shortage(bare, trials, proved=bare == problem), *fitting_changes(problem, variants, trials))


def _no_node(problem: Problem) -> str:
    excluded = len(set(problem.rules.exclude))
    offered = (node for node in problem.nodes if node.name not in problem.rules.exclude)
    if any(node.budget_bytes > 0 > node.room_bytes for node in offered):
        return "No node may take a block: what one holds beside any stage is more than its budget."
    if not excluded:
        return "No node may take a block: none has a budget after its reserve."
    if excluded == len(problem.nodes):
        return "No node may take a block: every node is excluded."
    return "No node may take a block: every node is excluded or has no budget after its reserve."


def _conflict(problem: Problem, trials: Trials) -> str:
    rules = conflicting_rules(problem, trials)
    which = "this rule, which leaves" if len(rules) == 1 else "these rules, and together they leave"
    return f"The model fits but for {which} no placement: {'; '.join(rules)}."


def _shortage(problem: Problem, trials: Trials, *, proved: bool) -> tuple[str, ...]:
    """Return why a problem without rules has no placement; `proved` says that the search itself has shown it."""
    sizes = _least_sizes(problem)
    heaviest = max(sizes)
    members = [member for group in problem.classes for member in group.members]
    if heaviest > max(member.room_bytes for member in members):
        node = max(members, key=lambda candidate: candidate.room_bytes)
        beside = f", of which it holds {exact_size(node.held_bytes)} beside any stage" if node.held_bytes else ""
        without = "" if problem.is_plain or not problem.may_offload else " without what may stay with a host"
        name = problem.item_name(sizes.index(heaviest))
        sentence = (
            f"{name[0].upper()}{name[1:]} with what belongs to it takes {exact_size(heaviest)}{without}, "
            f"more than the largest budget, {exact_size(node.budget_bytes)} on {node.name}{beside}."
        )
        return (sentence,)
    budget = sum(machine_budgets(replace(problem, nodes=tuple(members))).values())
    beside = " beside what they hold anyway" if any(member.held_bytes for member in members) else ""
    short = problem.total_bytes - budget
    if short > 0:
        held, needed = exact_size(budget), exact_size(problem.total_bytes)
        return (
            f"The budgets together hold {held}{beside} and the model needs {needed}: short by {exact_size(short)}.",
        )
    room = f"The budgets together hold {exact_size(-short)} more{beside} than the model needs"
    if not proved and trials.solve(problem, "nodes").outcome is not Outcome.INFEASIBLE:
        return (f"{room}; which rules or links leave no placement could not be told in a short time.",)
    sentence = f"{room}, but blocks do not divide and no order of the nodes takes them all."
    return (sentence, *_near_miss(problem, trials))


def _least_sizes(problem: Problem) -> list[int]:
    """Return the least that each item puts on a device: of any width, and without what it may leave with a host."""
    if problem.is_plain:
        sizes = [item.load_bytes for item in problem.items]
        return [problem.total_bytes] if len(sizes) == 1 else sizes
    kinds = {
        (0 if node.draws is None else node.draws.shape, node.host_pool is not None): node
        for group in problem.classes
        for node in group.members
    }
    whole = len(problem.items) == 1
    return [
        min(
            problem.items_of_shapes[shape][index].load_bytes
            - (problem.shape_of(node).ends.tied_bytes if whole else 0)
            - (problem.shape_of(node).blocks[index].expert_bytes if leaves else 0)
            - (problem.items_of_shapes[shape][index].other_bytes if leaves else 0)
            for (shape, leaves), node in kinds.items()
        )
        for index in range(len(problem.items))
    ]


def _near_miss(problem: Problem, trials: Trials) -> tuple[str, ...]:
    """Return the placement that overfills the budgets by the smallest share, as a sentence."""
    scale = 2
    grown = replace(
        problem,
        nodes=tuple(replace(node, budget_bytes=node.budget_bytes * scale) for node in problem.nodes),
        pools=tuple(replace(pool, budget_bytes=pool.budget_bytes * scale) for pool in problem.pools),
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
        f"The nearest miss{'' if proved else ' found'} puts {exact_size(load.load_bytes)} on {worst.node}, "
        f"{exact_size(load.load_bytes - load.budget_bytes)} above its budget: every budget would have to be "
        f"{'' if proved else 'at most '}{hundredths // 100}.{hundredths % 100:02} % larger."
    )
    return (sentence,)

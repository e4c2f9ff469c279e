"""Teams made into chains of nodes: cuts for teams in a given order, nodes for teams, and nodes exchanged for better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solver.flow.chains import Step
from solver.flow.measure import chain_tokens_per_second
from solver.replicated.layered import TeamStep, stages_kept

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solver.flow.chains import Chain
    from solver.problem import Problem
    from solver.replicated.kinds import Kinds
    from solver.replicated.pace import Pace
    from solver.replicated.packing import Team

__all__ = ["cut", "exchanged", "manned"]

# A pass over all exchanges measures each; more than so many are not tried.
_MOST_EXCHANGES = 400


def cut(kinds: Kinds, teams: Sequence[Team], items: int, pace: Pace) -> tuple[TeamStep, ...] | None:
    """Return cuts at which the teams, in one of a few orders, each keep the pace; None if none of them has any."""
    kept = {team: stages_kept(kinds, team, pace) for team in set(teams)}
    by_reach = sorted(teams, key=lambda team: (int(kept[team].sum()), team))
    for order in (tuple(teams), tuple(reversed(teams)), tuple(by_reach), tuple(reversed(by_reach))):
        reached = [np.zeros(items + 1, dtype=bool)]
        reached[0][0] = True
        for team in order:
            reached.append(reached[-1] @ kept[team])
        if not reached[-1][items]:
            continue
        steps: list[TeamStep] = []
        end = items
        for number in range(len(order) - 1, -1, -1):
            start = int(np.flatnonzero(reached[number] & kept[order[number]][:, end])[0])
            steps.append(TeamStep(start, end, order[number]))
            end = start
        return tuple(reversed(steps))
    return None


def manned(kinds: Kinds, steps: Sequence[TeamStep]) -> Chain:
    """Return a chain with nodes in the teams, those of a kind in the order listed."""
    left = [iter(kind.members) for kind in kinds.kinds]
    return tuple(
        Step(
            step.start,
            step.end,
            tuple(next(left[kind]) for kind, count in enumerate(step.team) for _ in range(count)),
        )
        for step in steps
    )


def exchanged(problem: Problem, kinds: Kinds, chain: Chain, spent: Callable[[], bool]) -> Chain:
    """Return a chain with nodes of one kind exchanged for each other where that carries more tokens: links differ."""
    best, carried = chain, chain_tokens_per_second(problem, chain)
    tried = 0
    for kind in kinds.kinds:
        for number, one in enumerate(kind.members):
            for other in kind.members[number + 1 :]:
                if spent() or tried >= _MOST_EXCHANGES:
                    return best
                candidate = _with_exchanged(best, one, other)
                if candidate == best:
                    continue
                tried += 1
                amount = chain_tokens_per_second(problem, candidate)
                if amount > carried:
                    best, carried = candidate, amount
    return best


def _with_exchanged(chain: Chain, one: str, other: str) -> Chain:
    places = {one: other, other: one}
    changed = tuple(Step(step.start, step.end, tuple(places.get(node, node) for node in step.nodes)) for step in chain)
    same = all(set(step.nodes) == set(before.nodes) for step, before in zip(changed, chain, strict=True))
    return chain if same else changed

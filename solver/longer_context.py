"""The longest context where what devices hold beside their stages grows with it: the longest that holds its own.

Objective `context` takes what is held beside stages as given. Here f(c) is its answer with what a context of c takes.
More tokens take more, so that f never rises; what is asked for is the largest step c with f(c) at least c.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from solver.errors import InputError
from solver.needs import CONTEXT_STEP_TOKENS
from solver.solve import solve

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Clock, Progress
    from solver.objectives import Objective
    from solver.problem import Problem
    from solver.solution import Solution

__all__ = ["longest_context"]


def longest_context(
    problem: Problem,
    objectives: tuple[Objective, ...],
    with_context: Callable[[int], Problem],
    clock: Clock,
    progress: Progress,
) -> Problem:
    """Return the problem with what the longest context holds beside stages, so that `context` finds that one.

    `with_context` builds the problem for another context; `objectives` name `context`, and those before it come first.
    Where nothing fits, no longer context does, or the time runs out, it is the problem as it is, or the best known.
    """
    names = [objective.name for objective in objectives]
    levels = objectives[: names.index("context") + 1]
    if not any(node.held_bytes for node in problem.nodes):
        return problem

    def answered(sized: Problem | None) -> Solution | None:
        return None if sized is None else solve(sized, levels, clock.effort, progress)

    start = answered(problem)
    if start is None or start.placement is None or problem.context_tokens is None:
        return problem
    nodes = start.levels[0].value if names[0] == "nodes" else None

    def longest_with(sized: Problem | None) -> int:
        """Return f, and -1 where what is asked for at least has no placement on as few nodes."""
        found = answered(sized)
        if found is None or found.placement is None or (nodes is not None and found.levels[0].value > nodes):
            return -1
        return int(found.levels[-1].value)

    return _settled(problem, int(start.levels[-1].value), _Sizes(problem, with_context), longest_with, clock)


class _Sizes:
    """The problem with what other contexts hold beside stages; None for one that the engine refuses."""

    def __init__(self, problem: Problem, with_context: Callable[[int], Problem]) -> None:
        self._problem, self._with_context = problem, with_context
        self._known: dict[int, Problem | None] = {}

    def at(self, tokens: int) -> Problem | None:
        if tokens not in self._known:
            try:
                other = self._with_context(tokens)
            except InputError:
                self._known[tokens] = None
            else:
                sized = replace(self._problem, nodes=other.nodes, pools=other.pools, ends=other.ends)
                self._known[tokens] = sized
        return self._known[tokens]


def _settled(
    problem: Problem, first: int, sizes: _Sizes, longest_with: Callable[[Problem | None], int], clock: Clock
) -> Problem:
    """Return the problem for the largest step c with f(c) at least c; f at what is asked for is `first`."""
    step, asked = CONTEXT_STEP_TOKENS, problem.context_tokens or 0
    # f holds its own at `low`, which may be what is asked for itself, and at no step from `high` on.
    low, reached, high = asked, first, first + step
    middle = first
    while middle > low and not clock.spent:
        found = longest_with(sizes.at(middle))
        if found >= middle:
            low, reached, high = middle, found, min(high, found + step)
        else:
            high = middle
            if found > low:
                # What a longer context leaves room for, a shorter one does.
                middle = found
                continue
        middle = (low + high) // 2 // step * step
    best = problem if low == asked else sizes.at(low) or problem
    above = sizes.at(high)
    if reached <= max(low, asked) or above is None or high - low > step:
        return best
    return _between(best, above, low, longest_with, clock)


def _between(
    best: Problem, above: Problem, tokens: int, longest_with: Callable[[Problem | None], int], clock: Clock
) -> Problem:
    """Return the problem with so much more set aside that no context above these tokens is found.

    Where the time runs out it is more than the least that does, at most what `above` has.
    """
    most = max(more.held_bytes - node.held_bytes for node, more in zip(best.nodes, above.nodes, strict=True))
    low, high = 0, max(most, above.ends.host_bytes - best.ends.host_bytes, 0)
    while low < high and not clock.spent:
        middle = (low + high) // 2
        if longest_with(_with_more(best, above, middle)) <= tokens:
            high = middle
        else:
            low = middle + 1
    return _with_more(best, above, high)


def _with_more(best: Problem, above: Problem, size_bytes: int) -> Problem:
    """Return a problem with so much more set aside everywhere, and nowhere more than in another."""
    nodes = tuple(
        replace(node, held_bytes=max(min(node.held_bytes + size_bytes, more.held_bytes), node.held_bytes))
        for node, more in zip(best.nodes, above.nodes, strict=True)
    )
    pools = tuple(
        replace(pool, held_bytes=max(min(pool.held_bytes + size_bytes, more.held_bytes), pool.held_bytes))
        for pool, more in zip(best.pools, above.pools, strict=True)
    )
    host_bytes = max(min(best.ends.host_bytes + size_bytes, above.ends.host_bytes), best.ends.host_bytes)
    return replace(best, nodes=nodes, pools=pools, ends=replace(best.ends, host_bytes=host_bytes))

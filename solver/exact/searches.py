"""Which exact search answers which question, chosen by what the question touches and by the number of states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.bounds import fewest_nodes
from solver.exact.canonical import canonical_placement, placement_of
from solver.exact.chain import chain_search, cover_of, work_of
from solver.exact.chain_walk import fewest_nodes_within, least_time, walk
from solver.exact.prefix import (
    PrefixSearch,
    TableError,
    answers,
    cells_of,
    enough_groups,
    find,
    lay_out_search,
    nodes_allowed,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.effort import Effort
    from solver.exact.chain import ChainSearch
    from solver.exact.line import Group
    from solver.limits import Limits
    from solver.problem import Placement, Problem

__all__ = ["ChainAnswers", "PrefixAnswers"]

# A pass of the set-and-first search adds about so many numbers a second, and may not take more memory than this.
_ADDITIONS_A_SECOND = 150e6
_MOST_TABLE_BYTES = 1_200_000_000
# Layouts that are kept for the next question take 4 bytes a cell.
_MOST_KEPT_CELLS = 70_000_000
# A value that is closed by descent takes about so many passes.
_PASSES_OF_DESCENT = 14


class PrefixAnswers:
    """The longest-prefix search of one problem; layouts are kept from one question to the next."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._kept: dict[tuple[Group, ...], PrefixSearch | None] = {}

    def answer(self, objective: str, limits: Limits) -> bool:
        """Return whether the search answers questions about an objective under limits."""
        if objective == "latency" or limits.max_latency_ns is not None:
            return False
        by_time = _by_time(objective, limits)
        if not answers(self._problem, by_time=by_time):
            return False
        nodes = nodes_allowed(self._problem, limits)
        if objective == "nodes" and not by_time:
            nodes = min(nodes, 2 * (fewest_nodes(self._problem, limits) or 1))
        return self._search(nodes, by_time=by_time) is not None

    def find(self, limits: Limits) -> Placement | None:
        """Return a placement on the fewest nodes within the limits, or None: then there is none.

        Raises:
            TableError: only more kinds of nodes than tables can hold would show that there is none.
        """
        by_time = limits.max_slowest_ns is not None
        most = nodes_allowed(self._problem, limits)
        nodes = fewest_nodes(self._problem, limits)
        if nodes is None or not self._problem.classes:
            return None
        step = 1
        while True:
            nodes = min(nodes, most)
            search = self._search(nodes, by_time=by_time)
            if search is None:
                raise TableError
            chain = find(search, self._problem, limits)
            if chain is not None:
                return placement_of(search, self._problem, chain)
            if nodes == most:
                return None
            nodes, step = nodes + step, step * 3

    def canonical(self, limits: Limits) -> Placement | None:
        """Return the canonical placement within limits that leave one, or None if tables would grow too large."""
        found = self.find(limits)
        if found is None:
            return None
        by_time = limits.max_slowest_ns is not None
        return canonical_placement(self._problem, limits, len(found.stages), by_time=by_time)

    def _search(self, nodes: int, *, by_time: bool) -> PrefixSearch | None:
        groups = enough_groups(self._problem, nodes, by_time=by_time)
        if groups not in self._kept:
            self._kept[groups] = lay_out_search(self._problem, groups, sum(group.count for group in groups))
        search = self._kept.pop(groups)
        self._kept[groups] = search
        while len(self._kept) > 1 and sum(cells_of(kept) for kept in self._kept.values()) > _MOST_KEPT_CELLS:
            # The first one was used longest ago.
            self._kept.pop(next(iter(self._kept)))
        return search


class ChainAnswers:
    """The set-and-first search of one problem."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._search: ChainSearch | None = None

    def answer(self, objective: str, effort: Effort) -> bool:
        """Return whether the search can answer questions about an objective in the time of the whole effort.

        The choice depends on the number of states alone, so that equal questions are always answered the same way.
        """
        if not self._problem.classes:
            return True
        additions, table_bytes = work_of(self._problem)
        passes = 2 if objective in ("nodes", "latency") else _PASSES_OF_DESCENT
        seconds = additions / _ADDITIONS_A_SECOND * passes
        return table_bytes <= _MOST_TABLE_BYTES and seconds <= max(effort.time_limit_seconds, 1.0)

    def least(
        self, objective: str, limits: Limits, spent: Callable[[], bool] = lambda: False
    ) -> tuple[int | None, Placement | None]:
        """Return the fewest nodes, or the least latency, within limits with a placement.

        None and None if there is none.

        Raises:
            TableError: `spent`, asked now and then, said that the time is up.
        """
        if not self._problem.classes or nodes_allowed(self._problem, limits) < 1:
            return None, None
        search = self._laid_out()
        timed = objective == "latency" or limits.max_latency_ns is not None
        cover = cover_of(search, self._problem, limits, timed=timed, spent=spent)
        least = least_time(cover)
        allowed = least if limits.max_latency_ns is None or least is None else limits.max_latency_ns
        if least is None or allowed is None or least > allowed:
            return None, None
        if objective == "latency":
            return least, walk(search, self._problem, cover, least)
        return fewest_nodes_within(cover, allowed), walk(search, self._problem, cover, allowed)

    def find(self, limits: Limits, spent: Callable[[], bool] = lambda: False) -> Placement | None:
        """Return the canonical placement on the fewest nodes within the limits, or None: then there is none.

        Raises:
            TableError: as for `least`.
        """
        return self.least("nodes", limits, spent)[1]

    def _laid_out(self) -> ChainSearch:
        if self._search is None:
            self._search = chain_search(self._problem)
        return self._search


def _by_time(objective: str, limits: Limits) -> bool:
    return objective == "throughput" or limits.max_slowest_ns is not None

"""The rules of stages in order, which every model has: on cut points, classes and links, not on memories.

What each states stands in the docstring of `solver.model.stages`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ortools.sat.python import cp_model

    from solver.problem import Problem

__all__ = ["Chain", "Frame", "ends", "first", "hops", "last", "measured", "nonempty", "once", "one", "order", "pins"]


class Chain(Protocol):
    """Variables of stages in order."""

    @property
    def cut(self) -> tuple[cp_model.IntVar, ...]:
        """Return where each stage starts, and where the last ends."""

    @property
    def use(self) -> tuple[tuple[cp_model.IntVar, ...], ...]:
        """Return by stage and position of a class whether the stage is on a device of it."""

    @property
    def used(self) -> tuple[cp_model.IntVar, ...]:
        """Return by stage whether it is used."""


class Frame(Protocol):
    """How much there is to place where."""

    @property
    def items(self) -> int:
        """Return how many items there are."""

    @property
    def stages(self) -> int:
        """Return how many stages there may be."""

    @property
    def classes(self) -> tuple[int, ...]:
        """Return which class of the problem each position stands for."""

    @property
    def counts(self) -> tuple[int, ...]:
        """Return by position how many devices the class has."""


def ends(model: cp_model.CpModel, v: Chain, sizes: Frame) -> None:
    """The first stage starts at item 0, the last ends behind the last item."""
    model.add(v.cut[0] == 0)
    model.add(v.cut[-1] == sizes.items)


def one(model: cp_model.CpModel, v: Chain) -> None:
    """A used stage has one class, and used stages come before unused ones."""
    for k, used in enumerate(v.used):
        model.add_exactly_one([*v.use[k], used.negated()])
        if k + 1 < len(v.used):
            model.add_implication(v.used[k + 1], used)
    model.add(v.used[0] == 1)


def nonempty(model: cp_model.CpModel, v: Chain, sizes: Frame, least: int) -> None:
    """A used stage holds at least so many items, an unused one none."""
    for k, used in enumerate(v.used):
        model.add(v.cut[k + 1] - v.cut[k] >= least * used)
        model.add(v.cut[k + 1] - v.cut[k] <= sizes.items * used)


def once(model: cp_model.CpModel, v: Chain, sizes: Frame) -> None:
    """No more stages of a class than it has nodes."""
    for c, count in enumerate(sizes.counts):
        if count < sizes.stages:
            model.add(sum(v.use[k][c] for k in range(sizes.stages)) <= count)


def pins(model: cp_model.CpModel, v: Chain, problem: Problem, sizes: Frame) -> None:
    """The stage on a pinned item's node contains the item."""
    for item, node in problem.rules.pins:
        c = _position(problem, sizes, node)
        if c is None:
            model.add_bool_or([])
            continue
        model.add_exactly_one(v.use[k][c] for k in range(sizes.stages))
        for k in range(sizes.stages):
            model.add(v.cut[k] <= item).only_enforce_if(v.use[k][c])
            model.add(v.cut[k + 1] > item).only_enforce_if(v.use[k][c])


def first(model: cp_model.CpModel, v: Chain, problem: Problem, sizes: Frame) -> None:
    """The first stage is on the node named for it."""
    if problem.rules.first is not None:
        c = _position(problem, sizes, problem.rules.first)
        model.add_bool_or([] if c is None else [v.use[0][c]])


def last(model: cp_model.CpModel, v: Chain, problem: Problem, sizes: Frame) -> None:
    """The last used stage is on the node named for it."""
    if problem.rules.last is None:
        return
    c = _position(problem, sizes, problem.rules.last)
    if c is None:
        model.add_bool_or([])
        return
    model.add_exactly_one(v.use[k][c] for k in range(sizes.stages))
    for k in range(sizes.stages - 1):
        model.add_implication(v.use[k][c], v.used[k + 1].negated())


def order(model: cp_model.CpModel, v: Chain, problem: Problem, sizes: Frame) -> None:
    """Of two nodes named in an order, the later never has a stage before the earlier's."""
    named = [c for node in problem.rules.order if (c := _position(problem, sizes, node)) is not None]
    for number, a in enumerate(named):
        for b in named[number + 1 :]:
            for k in range(sizes.stages - 1):
                model.add_at_most_one([v.use[k][b], *(v.use[later][a] for later in range(k + 1, sizes.stages))])


def measured(model: cp_model.CpModel, v: Chain, problem: Problem, sizes: Frame) -> None:
    """A node with measured times holds no more blocks than they were measured for."""
    for c, index in enumerate(sizes.classes):
        times = problem.classes[index].members[0].stage_ns
        if times is not None and len(times) < sizes.items:
            for k in range(sizes.stages):
                model.add(v.cut[k + 1] - v.cut[k] <= len(times)).only_enforce_if(v.use[k][c])


def hops(model: cp_model.CpModel, v: Chain, problem: Problem, sizes: Frame) -> None:
    """No two stages in a row are joined by a forbidden link."""
    for a, b in _forbidden(problem, sizes):
        for k in range(sizes.stages - 1):
            model.add_implication(v.use[k][a], v.use[k + 1][b].negated())


def _position(problem: Problem, sizes: Frame, node: str) -> int | None:
    for position, index in enumerate(sizes.classes):
        if any(member.name == node for member in problem.classes[index].members):
            return position
    return None


def _forbidden(problem: Problem, sizes: Frame) -> Iterator[tuple[int, int]]:
    if not problem.has_forbidden_links:
        return
    for a, source in enumerate(sizes.classes):
        for b, target in enumerate(sizes.classes):
            if (
                a != b
                and problem.link(
                    problem.classes[source].members[0].name, problem.classes[target].members[0].name
                ).forbidden
            ):
                yield a, b

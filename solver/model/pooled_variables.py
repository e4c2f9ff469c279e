"""Variables of the model of shared memories, each declared with what it is in a placement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solver.model.draft import Draft
    from solver.model.pooled_sizes import Memories, Placed, Sizes
    from solver.problem import Problem

__all__ = ["Built", "Rows", "Taken", "Variables", "declare", "share", "sums_of", "taken_of"]

Rows = tuple[tuple[cp_model.IntVar, ...], ...]
_Sum = cp_model.LinearExpr


@dataclass(frozen=True, eq=False)
class Variables:
    """cut, use and used as in `stages`; n by stage and class under the kind, and all_n over classes by stage and kind.

    a by class is 0 where nothing is saved.
    """

    cut: tuple[cp_model.IntVar, ...]
    use: Rows
    used: tuple[cp_model.IntVar, ...]
    n: tuple[tuple[dict[int, cp_model.IntVar], ...], ...]
    all_n: Rows
    a: tuple[cp_model.IntVar | int, ...]
    on: tuple[cp_model.IntVar, ...]


@dataclass(frozen=True, eq=False)
class Taken:
    """What stages take of memories, by stage and class."""

    memories: Memories
    weights: Rows
    rest: Rows


@dataclass(frozen=True, eq=False)
class Built:
    """A model with what it stands for; `sums` are the variables tied to cuts by a table of prefix sums, under it."""

    draft: Draft
    v: Variables
    problem: Problem
    sizes: Sizes
    sums: dict[tuple[int, ...], tuple[cp_model.IntVar, ...]] = field(default_factory=dict)


def declare(draft: Draft, sizes: Sizes) -> Variables:
    """Declare cut, use, used, n, a and on."""
    stages, classes = range(sizes.stages), range(len(sizes.groups))

    def whole(c: int) -> cp_model.IntVar | int:
        if not sizes.memory.loads[c].tied:
            return 0
        return draft.boolean(f"a[{c}]", lambda placed: placed.is_on(0, c) and len(placed.stages) == 1)

    return Variables(
        cut=tuple(draft.integer(sizes.items, f"cut[{k}]", _cut(k)) for k in range(sizes.stages + 1)),
        use=tuple(tuple(draft.boolean(f"use[{k},{c}]", _is_on(k, c)) for c in classes) for k in stages),
        used=tuple(draft.boolean(f"used[{k}]", _is_used(k)) for k in stages),
        n=tuple(
            tuple(
                {
                    q: draft.integer(len(kind), f"n[{k},{q},{c}]", _away(k, q, c))
                    for q, kind in enumerate(sizes.kinds)
                    if sizes.memory.loads[c].experts[q]
                }
                for c in classes
            )
            for k in stages
        ),
        all_n=tuple(
            tuple(draft.integer(len(kind), f"n[{k},{q}]", _all_away(k, q)) for q, kind in enumerate(sizes.kinds))
            for k in stages
        ),
        a=tuple(whole(c) for c in classes),
        on=tuple(draft.boolean(f"on[{m}]", _any_on(positions)) for m, positions in enumerate(sizes.machines)),
    )


def share(built: Built, tables: Sequence[tuple[int, ...]], name: str) -> Rows:
    """Declare what stage k takes of what the tables count, where it is on class c: prefix sums by class."""
    v, model = built.v, built.draft.model
    rows = tuple(
        tuple(built.draft.integer(table[-1], f"{name}[{k},{c}]", _taken(k, c, table)) for c, table in enumerate(tables))
        for k in range(built.sizes.stages)
    )
    is_one = len(set(tables)) == 1
    for k, row in enumerate(rows):
        if is_one:
            sums = sums_of(built, tables[0])
            model.add(_Sum.sum(list(row)) == sums[k + 1] - sums[k])
        for c, (amount, table) in enumerate(zip(row, tables, strict=True)):
            model.add(amount <= table[-1] * v.use[k][c])
            if not is_one:
                sums = sums_of(built, table)
                model.add(amount >= sums[k + 1] - sums[k] - table[-1] * v.use[k][c].negated())
    return rows


def sums_of(built: Built, table: tuple[int, ...]) -> tuple[cp_model.IntVar, ...]:
    """Declare the prefix sum at every cut, once for each table."""
    if table not in built.sums:
        sums = tuple(
            built.draft.integer(table[-1], f"sum[{len(built.sums)},{k}]", _sum(k, table))
            for k in range(len(built.v.cut))
        )
        for cut, amount in zip(built.v.cut, sums, strict=True):
            built.draft.model.add_allowed_assignments([cut, amount], list(enumerate(table)))
        built.sums[table] = sums
    return built.sums[table]


def taken_of(built: Built, memories: Memories) -> Taken:
    """Declare what stages take of memories."""
    return Taken(
        memories,
        share(built, [loads.weights for loads in memories.loads], "weights"),
        share(built, [loads.rest for loads in memories.loads], "rest"),
    )


def _cut(k: int) -> Callable[[Placed], int]:
    return lambda placed: placed.cut(k)


def _is_on(k: int, c: int) -> Callable[[Placed], bool]:
    return lambda placed: placed.is_on(k, c)


def _is_used(k: int) -> Callable[[Placed], bool]:
    return lambda placed: placed.at(k) is not None


def _any_on(positions: tuple[int, ...]) -> Callable[[Placed], bool]:
    return lambda placed: any(held.c in positions for held in placed.stages)


def _away(k: int, q: int, c: int) -> Callable[[Placed], int]:
    return lambda placed: placed.stages[k].away[q] if placed.is_on(k, c) else 0


def _all_away(k: int, q: int) -> Callable[[Placed], int]:
    def meaning(placed: Placed) -> int:
        held = placed.at(k)
        return 0 if held is None else held.away[q]

    return meaning


def _sum(k: int, table: tuple[int, ...]) -> Callable[[Placed], int]:
    return lambda placed: table[placed.cut(k)]


def _taken(k: int, c: int, table: tuple[int, ...]) -> Callable[[Placed], int]:
    return lambda placed: table[placed.cut(k + 1)] - table[placed.cut(k)] if placed.is_on(k, c) else 0

r"""The CP-SAT model of a placement: stages in order, cut points, and one class of nodes a stage.

Sets      k in K (stages, in the order a token passes them; those at the end may be unused),
          c in C (classes of equal nodes), i in I (items, in order).
Given     P[j] bytes of the first j items, j = 0 … |I|;  cap[c] the most bytes of items on a node of class c;
          F[j] bytes of the first j items with caches of the tokens asked for, budget[c] to hold them (where asked);
          count[c] nodes of class c;  S bytes saved where one stage holds every item;  m items a stage at least.
Decide    cut[k] in 0 … |I|, where stage k starts;  bytes[k] = P[cut[k]];
          use[k,c] = 1 if stage k is on a node of class c;  used[k] = sum_c use[k,c].

    (ends)      cut[0] = 0 and cut[|K|] = |I|
    (prefix)    bytes[k] = P[cut[k]]                                               for k in K
    (one)       used[k] <= 1, used[k] >= used[k+1]                                 for k in K
    (nonempty)  cut[k+1] - cut[k] >= m if used[k], = 0 if not                      for k in K
    (once)      sum_k use[k,c] <= count[c]                                         for c in C
    (memory)    bytes[k+1] - bytes[k] - (S if stage k is alone) <= sum_c cap[c] use[k,c]   for k in K
    (pins)      the stage of class c contains item i                               for pinned (i, c)
    (first)     use[0,c] = 1                                                       for c named first
    (last)      the last used stage is of class c                                  for c named last
    (order)     use[k,b] + sum_{k' > k} use[k',a] <= 1                             for a before b in the order asked for
    (measured)  cut[k+1] - cut[k] <= blocks measured for class c if use[k,c]
    (hops)      use[k,a] + use[k+1,b] <= 1                                         for forbidden links a → b
    (room)      F[cut[k+1]] - F[cut[k]] - (S if alone) <= sum_c budget[c] use[k,c] where room for tokens is asked for

The rules that do not speak of bytes are in `solver.model.chain`; times are in `solver.model.times`.

A node that a rule names is a class of its own. Only integers of bytes enter, divided by what divides every item;
ratios have become caps before.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.limits import cap_bytes, most_nodes, token_prefix
from solver.model.chain import ends, first, hops, last, measured, nonempty, once, one, order, pins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.limits import Limits
    from solver.model.chain import Chain
    from solver.problem import Placement, Problem

__all__ = [
    "Sizes",
    "Variables",
    "alone",
    "build",
    "capacity",
    "hint",
    "load",
    "sizes_of",
]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers of the model. `prefix`, `caps`, `held` (beside a stage) and `shared` are in units of `unit_bytes`.

    `classes` are the indices into `Problem.classes` that can hold something, in the order listed. `filled` is the
    prefix with caches of the tokens asked for and `budgets` what holds it, in bytes; `filled` is None where none is
    asked for.
    """

    unit_bytes: int
    prefix: tuple[int, ...]
    caps: tuple[int, ...]
    held: tuple[int, ...]
    shared: int
    filled: tuple[int, ...] | None
    budgets: tuple[int, ...]
    counts: tuple[int, ...]
    classes: tuple[int, ...]
    stages: int

    @property
    def items(self) -> int:
        """Return how many items there are."""
        return len(self.prefix) - 1


@dataclass(frozen=True, eq=False)
class Variables:
    """cut and bytes have one entry more than there are stages; use is by stage and position in `Sizes.classes`."""

    cut: tuple[cp_model.IntVar, ...]
    bytes: tuple[cp_model.IntVar, ...]
    use: tuple[tuple[cp_model.IntVar, ...], ...]
    used: tuple[cp_model.IntVar, ...]


def sizes_of(problem: Problem, limits: Limits) -> Sizes:
    """Return the numbers of the model for a problem within limits."""
    nodes = [group.members[0] for group in problem.classes]
    beside = (node.held_bytes for node in nodes)
    unit = gcd(problem.shared_bytes, *beside, *(item.load_bytes for item in problem.items)) or 1
    total = problem.prefix_bytes[-1]
    caps = [min(cap_bytes(limits, node.budget_bytes, node.held_bytes), total) for node in nodes]
    classes = tuple(index for index, cap in enumerate(caps) if cap >= 0)
    count = sum(problem.classes[index].count for index in classes)
    return Sizes(
        unit_bytes=unit,
        prefix=tuple(amount // unit for amount in problem.prefix_bytes),
        caps=tuple(caps[index] // unit for index in classes),
        held=tuple(nodes[index].held_bytes // unit for index in classes),
        shared=problem.shared_bytes // unit,
        filled=None if limits.min_tokens is None else token_prefix(problem, limits.min_tokens),
        budgets=tuple(problem.classes[index].room_bytes for index in classes),
        counts=tuple(problem.classes[index].count for index in classes),
        classes=classes,
        stages=max(min(most_nodes(problem, limits), count), 0),
    )


def build(problem: Problem, sizes: Sizes) -> tuple[cp_model.CpModel, Variables]:
    """Return the model with every rule and no objective. There must be at least one stage."""
    model = cp_model.CpModel()
    v = declare(model, sizes)
    ends(model, v, sizes)
    prefix(model, v, sizes)
    one(model, v)
    nonempty(model, v, sizes, problem.rules.min_blocks)
    once(model, v, sizes)
    memory(model, v, sizes)
    pins(model, v, problem, sizes)
    first(model, v, problem, sizes)
    last(model, v, problem, sizes)
    order(model, v, problem, sizes)
    measured(model, v, problem, sizes)
    hops(model, v, problem, sizes)
    room(model, v, problem, sizes)
    return model, v


def declare(model: cp_model.CpModel, sizes: Sizes) -> Variables:
    """Declare cut, bytes, use and used."""
    boundaries, stages, classes = range(sizes.stages + 1), range(sizes.stages), range(len(sizes.classes))
    return Variables(
        cut=tuple(model.new_int_var(0, sizes.items, f"cut[{k}]") for k in boundaries),
        bytes=tuple(model.new_int_var(0, sizes.prefix[-1], f"bytes[{k}]") for k in boundaries),
        use=tuple(tuple(model.new_bool_var(f"use[{k},{c}]") for c in classes) for k in stages),
        used=tuple(model.new_bool_var(f"used[{k}]") for k in stages),
    )


def prefix(model: cp_model.CpModel, v: Variables, sizes: Sizes) -> None:
    """bytes[k] is the load of the items before cut[k]; one table a boundary."""
    table = list(enumerate(sizes.prefix))
    for cut, amount in zip(v.cut, v.bytes, strict=True):
        model.add_allowed_assignments([cut, amount], table)


def memory(model: cp_model.CpModel, v: Variables, sizes: Sizes) -> None:
    """A stage's load is within the cap of its class."""
    for k in range(sizes.stages):
        model.add(load(v, k) - sizes.shared * alone(v, k) <= capacity(v, sizes.caps, k))


def room(model: cp_model.CpModel, v: Variables, problem: Problem, sizes: Sizes) -> None:
    """A stage holds its weights with caches of the tokens asked for."""
    if sizes.filled is None:
        return
    table = list(enumerate(sizes.filled))
    filled = [model.new_int_var(0, sizes.filled[-1], f"filled[{k}]") for k in range(sizes.stages + 1)]
    for cut, amount in zip(v.cut, filled, strict=True):
        model.add_allowed_assignments([cut, amount], table)
    for k in range(sizes.stages):
        held = filled[k + 1] - filled[k] - problem.shared_bytes * alone(v, k)
        model.add(held <= capacity(v, sizes.budgets, k))


def alone(v: Chain, k: int) -> cp_model.LinearExpr | int:
    """Return 1 if stage k holds everything, else 0: no second stage is used."""
    if k > 0:
        return 0
    return 1 - v.used[1] if len(v.used) > 1 else 1


def load(v: Variables, k: int) -> cp_model.LinearExpr:
    """Return the plain load of stage k, nothing shared."""
    return v.bytes[k + 1] - v.bytes[k]


def capacity(v: Variables, caps: Sequence[int], k: int) -> cp_model.LinearExpr:
    """Return the cap of stage k: that of its class, 0 where it is unused."""
    return cp_model.LinearExpr.weighted_sum(list(v.use[k]), list(caps))


def hint(model: cp_model.CpModel, v: Variables, problem: Problem, sizes: Sizes, start: Placement) -> None:
    """Hint every variable from a placement that the rules allow and that has no more stages than the model."""
    model.clear_hints()  # type: ignore[no-untyped-call]  # OR-Tools leaves it untyped
    class_of = {
        member.name: position
        for position, index in enumerate(sizes.classes)
        for member in problem.classes[index].members
    }
    for k in range(sizes.stages + 1):
        cut = 0 if k == 0 else start.stages[min(k, len(start.stages)) - 1].end
        model.add_hint(v.cut[k], cut)
        model.add_hint(v.bytes[k], sizes.prefix[cut])
    for k in range(sizes.stages):
        chosen = class_of.get(start.stages[k].node) if k < len(start.stages) else None
        model.add_hint(v.used[k], int(k < len(start.stages)))
        for c, literal in enumerate(v.use[k]):
            model.add_hint(literal, int(c == chosen))

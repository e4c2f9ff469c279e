r"""The CP-SAT model of devices that share memories and may leave experts with their hosts.

Sets      d in D (devices), m in M (machines, one for a device of none), i in I (items, in order), p in P (pools),
          q in Q (kinds of experts: items whose experts weigh and read the same on every device).
Given     l[i,d] what item i takes of device d;  e[q,d] the part of it that experts of kind q are;  cap[d];
          S[d] what d saves where it holds every item;  k[d] what stays with its host where it holds the first;
          w[d] its width: the pools that each take its load;  B[p];  least items a stage.
Decide    x[i,d] = 1 if d holds item i;  s[i,d] = 1 if d holds an item up to i, used[d] = s[last,d];
          n[q,d] items of kind q whose experts d leaves with its host;  a[d] = 1 if d holds every item.

    (cover)     sum_d x[i,d] = 1                                                   for i in I
    (once)      s[i-1,d] <= s[i,d],  x[i,d] <= s[i,d] <= s[i-1,d] + x[i,d],
                s[i,d] - s[i-1,d] >= x[i,d] - x[i-1,d]                             for i in I, d in D
    (cards)     sum used[d] <= 1  over the devices on one card
    (offload)   n[q,d] <= sum_{i in q} x[i,d]                                      for q in Q, d in D with a host
    (memory)    load[d] <= cap[d] used[d],  where
                load[d] = sum_i l[i,d] x[i,d] - sum_q e[q,d] n[q,d] - S[d] a[d]    for d in D
    (pools)     sum load[d]  over d that draw on p
                + sum w[d] sum_q e[q,d] n[q,d] + k[d] x[0,d]  over d with host p   <= B[p]   for p in P
    (together)  as for (once), with the sum of x over the devices of m             for m in M, unless apart
    (pins)      x[i,d] = 1                                                         for pinned (i, d)
    (first)     x[0,d] = 1                                                         for d named first
    (last)      x[last,d] = 1                                                      for d named last
    (order)     x[i,b] <= s[i,a] + 1 - used[a]                                     for a before b in the order asked for
    (max_nodes) sum_m on[m] <= most,  on[m] >= used[d]                             for d of m
    (min_blocks) sum_i x[i,d] >= least used[d]                                     for d in D
    (measured)  sum_i x[i,d] <= blocks measured                                    for d with measured times
    (hops)      y[i,g,h], one for each pair of like devices that a link may join, = 1 if item i is the first of a device
                of h behind one of g:  sum_h y[i,g,h] = stages of g that end at i,  sum_g y[i,g,h] = stages of h that
                start at i
    (room)      (memory) and (pools) with caches of the tokens asked for
    (alike)     s[i,b] <= s[i,a] for a before b of one class,  s[i,b] <= sum_{a in m} s[i,a] for b of a twin behind m

Times are in `solver.model.pooled_times`. Kinds stand for the choice of blocks: of a stage's items of one kind the
earliest are left with the host. Bytes are divided by what divides all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.model.draft import Draft
from solver.model.pooled_seams import Seams, seams_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solver.model.pooled_sizes import Memories, Placed, Sizes
    from solver.problem import Problem

__all__ = ["Built", "Variables", "build", "left", "load"]

_Sum = cp_model.LinearExpr


@dataclass(frozen=True, eq=False)
class Variables:
    """x and s by device and item, n by device under the kind, a by device (0 where nothing is saved), on by machine."""

    x: tuple[tuple[cp_model.IntVar, ...], ...]
    s: tuple[tuple[cp_model.IntVar, ...], ...]
    n: tuple[dict[int, cp_model.IntVar], ...]
    a: tuple[cp_model.IntVar | int, ...]
    on: tuple[cp_model.IntVar, ...]

    @property
    def used(self) -> list[cp_model.IntVar]:
        """Return for every device whether it holds a stage."""
        return [begun[-1] for begun in self.s]


@dataclass(frozen=True, eq=False)
class Built:
    """A model with what it stands for."""

    draft: Draft
    v: Variables
    seams: Seams
    problem: Problem
    sizes: Sizes


def build(problem: Problem, sizes: Sizes) -> Built:
    """Return the model with every rule and no objective."""
    draft = Draft()
    model = draft.model
    v = declare(draft, sizes)
    cover(model, v, sizes)
    once(model, v)
    cards(model, v, sizes)
    offload(model, v, sizes)
    for memories in (sizes.memory, sizes.tokens):
        if memories is not None:
            memory(model, v, memories)
            pools(model, v, sizes, memories)
    together(draft, v, problem, sizes)
    pins(model, v, problem, sizes)
    first(model, v, problem, sizes)
    last(model, v, problem, sizes)
    order(model, v, problem, sizes)
    max_nodes(model, v, sizes)
    min_blocks(model, v, problem)
    measured(model, v, sizes)
    seams = seams_of(draft, v.x, v.s, problem, sizes)
    alike(model, v, sizes)
    return Built(draft, v, seams, problem, sizes)


def declare(draft: Draft, sizes: Sizes) -> Variables:
    """Declare x, s, n, a and on."""
    items, devices = range(sizes.items), range(len(sizes.devices))

    def whole(d: int) -> cp_model.IntVar | int:
        if not sizes.memory.loads[d].tied:
            return 0
        return draft.boolean(f"a[{d}]", lambda placed: placed.holds(d, 0) and placed.holds(d, sizes.items - 1))

    return Variables(
        x=tuple(tuple(draft.boolean(f"x[{i},{d}]", _holds(d, i)) for i in items) for d in devices),
        s=tuple(tuple(draft.boolean(f"s[{i},{d}]", _begun((d,), i)) for i in items) for d in devices),
        n=tuple(
            {
                q: draft.integer(len(kind), f"n[{q},{d}]", _away(d, q))
                for q, kind in enumerate(sizes.kinds)
                if sizes.memory.loads[d].experts[q]
            }
            for d in devices
        ),
        a=tuple(whole(d) for d in devices),
        on=tuple(draft.boolean(f"on[{m}]", _begun(_of(sizes, m), sizes.items)) for m in range(sizes.machines)),
    )


def cover(model: cp_model.CpModel, v: Variables, sizes: Sizes) -> None:
    """Every item is on one device."""
    for i in range(sizes.items):
        model.add_exactly_one([row[i] for row in v.x])


def once(model: cp_model.CpModel, v: Variables) -> None:
    """The items of a device follow one another; a device that saves something by holding all holds the ends."""
    for x, s, a in zip(v.x, v.s, v.a, strict=True):
        _begins_once(model, [[variable] for variable in x], s)
        if not isinstance(a, int):
            model.add_implication(a, x[0])
            model.add_implication(a, x[-1])


def _begins_once(
    model: cp_model.CpModel, held: list[list[cp_model.IntVar]], begun: tuple[cp_model.IntVar, ...]
) -> None:
    """What is held, a sum of literals an item of which one is true at most, is a run; begun[i] says that it began."""
    for i, now in enumerate(held):
        before = held[i - 1] if i else []
        earlier = [begun[i - 1]] if i else []
        model.add(_Sum.sum([begun[i], *before]) >= _Sum.sum([*earlier, *now]))
        model.add_bool_or([begun[i].negated(), *earlier, *now])
        for literal in (*now, *earlier):
            model.add_implication(literal, begun[i])


def cards(model: cp_model.CpModel, v: Variables, sizes: Sizes) -> None:
    """Of devices that occupy one card, at most one is used."""
    holders: dict[str, list[cp_model.IntVar]] = {}
    for device, used in zip(sizes.devices, v.used, strict=True):
        for card in device.node.cards:
            holders.setdefault(card, []).append(used)
    for literals in holders.values():
        if len(literals) > 1:
            model.add_at_most_one(literals)


def offload(model: cp_model.CpModel, v: Variables, sizes: Sizes) -> None:
    """No more items of a kind leave their experts with the host than the device holds."""
    for x, n in zip(v.x, v.n, strict=True):
        for q, amount in n.items():
            model.add(amount <= _Sum.sum([x[i] for i in sizes.kinds[q]]))


def memory(model: cp_model.CpModel, v: Variables, memories: Memories) -> None:
    """What a device holds is within its cap."""
    for d, used in enumerate(v.used):
        model.add(load(v, memories, d) <= memories.caps[d] * used)


def pools(model: cp_model.CpModel, v: Variables, sizes: Sizes, memories: Memories) -> None:
    """What all devices put into a pool is at most its budget."""
    for pool, budget in memories.budgets:
        drawn = [d for d, device in enumerate(sizes.devices) if pool in device.node.pools]
        hosted = [d for d, device in enumerate(sizes.devices) if pool == device.node.host_pool]
        if hosted or len(drawn) > 1 or any(memories.caps[d] > budget for d in drawn):
            loads = [load(v, memories, d) * sizes.devices[d].node.pools.count(pool) for d in drawn]
            stays = [left(v, sizes, memories, d) + memories.loads[d].kept * v.x[d][0] for d in hosted]
            model.add(_Sum.sum([*loads, *stays]) <= budget)


def together(draft: Draft, v: Variables, problem: Problem, sizes: Sizes) -> None:
    """The devices of one machine follow one another, unless they may stand apart."""
    if problem.rules.apart:
        return
    for m in range(sizes.machines):
        devices = _of(sizes, m)
        if len(devices) > 1:
            begun = tuple(draft.boolean(f"begun[{i},{m}]", _begun(devices, i)) for i in range(sizes.items))
            _begins_once(draft.model, [[v.x[d][i] for d in devices] for i in range(sizes.items)], begun)


def pins(model: cp_model.CpModel, v: Variables, problem: Problem, sizes: Sizes) -> None:
    """A pinned item is on its node."""
    for item, node in problem.rules.pins:
        model.add_bool_or([v.x[d][item] for d in _named(sizes, node)])


def first(model: cp_model.CpModel, v: Variables, problem: Problem, sizes: Sizes) -> None:
    """The first stage is on the node named for it."""
    if problem.rules.first is not None:
        model.add_bool_or([v.x[d][0] for d in _named(sizes, problem.rules.first)])


def last(model: cp_model.CpModel, v: Variables, problem: Problem, sizes: Sizes) -> None:
    """The last stage is on the node named for it."""
    if problem.rules.last is not None:
        model.add_bool_or([v.x[d][-1] for d in _named(sizes, problem.rules.last)])


def order(model: cp_model.CpModel, v: Variables, problem: Problem, sizes: Sizes) -> None:
    """Of two nodes named in an order, the later holds nothing before the earlier has begun, where that is used."""
    named = [d for node in problem.rules.order for d in _named(sizes, node)]
    for a, b in combinations(named, 2):
        for i in range(sizes.items):
            model.add_bool_or([v.x[b][i].negated(), v.s[a][i], v.used[a].negated()])


def max_nodes(model: cp_model.CpModel, v: Variables, sizes: Sizes) -> None:
    """No more machines are used than allowed."""
    for device, used in zip(sizes.devices, v.used, strict=True):
        model.add_implication(used, v.on[device.machine])
    if sizes.most_machines is not None:
        model.add(_Sum.sum(list(v.on)) <= sizes.most_machines)


def min_blocks(model: cp_model.CpModel, v: Variables, problem: Problem) -> None:
    """A used device holds at least so many items."""
    if problem.rules.min_blocks > 1:
        for x, used in zip(v.x, v.used, strict=True):
            model.add(_Sum.sum(list(x)) >= problem.rules.min_blocks * used)


def measured(model: cp_model.CpModel, v: Variables, sizes: Sizes) -> None:
    """A device with measured times holds no more blocks than they were measured for."""
    for x, device in zip(v.x, sizes.devices, strict=True):
        times = device.node.stage_ns
        if times is not None and len(times) < sizes.items:
            model.add(_Sum.sum(list(x)) <= len(times))


def alike(model: cp_model.CpModel, v: Variables, sizes: Sizes) -> None:
    """Of devices, and of machines, that could be exchanged, the earlier comes first."""
    for (a, one), (b, other) in pairwise(enumerate(sizes.devices)):
        if one.group == other.group:
            for i in range(sizes.items):
                model.add_implication(v.s[b][i], v.s[a][i])
    for numbers in sizes.twins:
        for earlier, later in pairwise(numbers):
            for b in later:
                for i in range(sizes.items):
                    model.add_bool_or([v.s[b][i].negated(), *(v.s[a][i] for a in earlier)])


def load(v: Variables, memories: Memories, d: int) -> cp_model.LinearExpr:
    """Return what device d takes of each of its pools."""
    loads = memories.loads[d]
    terms = [*v.x[d], *v.n[d].values()]
    amounts = [*loads.items, *(-loads.experts[q] for q in v.n[d])]
    return _Sum.weighted_sum(terms, amounts) - loads.tied * v.a[d]


def left(v: Variables, sizes: Sizes, memories: Memories, d: int) -> cp_model.LinearExpr:
    """Return the experts that device d leaves with its host, those of every rank of a group."""
    width = len(sizes.devices[d].node.pools)
    return _Sum.weighted_sum(list(v.n[d].values()), [width * memories.loads[d].experts[q] for q in v.n[d]])


def _named(sizes: Sizes, node: str) -> Iterable[int]:
    return (d for d, device in enumerate(sizes.devices) if device.node.name == node)


def _of(sizes: Sizes, m: int) -> tuple[int, ...]:
    return tuple(d for d, device in enumerate(sizes.devices) if device.machine == m)


def _holds(d: int, i: int) -> Callable[[Placed], bool]:
    return lambda placed: placed.holds(d, i)


def _begun(devices: tuple[int, ...], i: int) -> Callable[[Placed], bool]:
    return lambda placed: any(placed.begun(d, i) for d in devices)


def _away(d: int, q: int) -> Callable[[Placed], int]:
    def meaning(placed: Placed) -> int:
        held = placed.held[d]
        return 0 if held is None else held.away[q]

    return meaning

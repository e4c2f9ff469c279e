r"""The CP-SAT model of devices that share memories and may leave experts with their hosts.

Stages, cuts and classes are those of `solver.model.stages`, with its rules of the same names; here is what differs.

Sets      k in K (stages), c in C (classes of equal devices), p in P (pools that several draw on or leave experts in),
          m in M (machines of several devices), q in Q (kinds of experts: items whose experts weigh and read the same).
Given     W[c,j], R[c,j] weights of the first j blocks, and the rest of the first j items, on a device of class c;
          e[q,c] the part of a weight that experts of kind q are;  o[c], h[c] what comes beside the first item, on the
          device and with its host;  S[c] what is saved where one stage holds every item;  N[q,j] of the first j items
          are of kind q;  w[c] pools of its own or shared that each take the load;  d[c] what each holds beside it;
          cap[c], d[c] taken off;  B[p].
Decide    cut[k], use[k,c], used[k] as before;  weights[k,c], rest[k,c] what stage k takes where it is on class c, else
          0;  n[k,q,c] items of kind q whose experts stage k leaves with its host, 0 unless it is on class c;
          n[k,q] = sum_c n[k,q,c];  a[c] = 1 if the only stage is on class c;  on[m] = 1 if m is used.

    (ends)      as before
    (one)       as before
    (nonempty)  as before
    (once)      as before
    (share)     sum_c weights[k,c] = W[cut[k+1]] - W[cut[k]],  weights[k,c] <= W[last] use[k,c]    for k in K;
                where W differs with c,  weights[k,c] >= W[c,cut[k+1]] - W[c,cut[k]] if use[k,c];  rest alike
    (cards)     sum_{k,c} use[k,c] <= 1                                            over the classes on one card
    (offload)   n[k,q,c] <= |q| use[k,c],  n[k,q] <= N[q,cut[k+1]] - N[q,cut[k]]   for q in Q
    (memory)    load[k,c] <= cap[c] use[k,c],  where
                load[k,c] = weights[k,c] + rest[k,c] + o[c] use[0,c] - sum_q e[q,c] n[k,q,c] - S[c] a[c]
    (stage)     sum_c load[k,c] <= sum_c cap[c] use[k,c],  from cuts and n[k,q]        where W and R are alike for all c
    (pools)     sum_{k,c} load[k,c] + d[c] use[k,c]  over c that draw on p
                + sum_{k,c} w[c] sum_q e[q,c] n[k,q,c] + h[c] use[0,c]  over c with host p  <= B[p]   for p in P
    (together)  stages of m begin once: sum_k begin[k,m] <= 1,
                begin[k,m] >= sum_{c in m} use[k,c] - use[k-1,c]                   for m in M, unless apart
    (pins)      as before
    (first)     as before
    (last)      as before
    (order)     as before
    (max_nodes) sum_m on[m] + sum_{k,c} use[k,c]  over c of no m  <= most,  on[m] >= use[k,c]  for c in m
    (measured)  as before
    (hops)      as before
    (room)      (share), (memory), (stage) and (pools) with caches of the tokens asked for
    (alike)     use[k,c] <= sum_{k' < k, c' in m} use[k',c']                       for c of a twin behind m

Times are in `solver.model.pooled_times`. Kinds stand for the choice of blocks: of a stage's items of one kind the
earliest are left with the host. What is shared out among classes, and not only bounded under a condition, is what makes
the relaxation strong. Bytes are divided by what divides all of them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from ortools.sat.python import cp_model

from solver.model.chain import ends, first, hops, last, measured, nonempty, once, one, order, pins
from solver.model.draft import Draft
from solver.model.pooled_variables import Built, Taken, declare, sums_of, taken_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.model.pooled_sizes import Memories, Placed, Sizes
    from solver.problem import Problem

__all__ = ["build", "left", "load", "nodes"]

_Sum = cp_model.LinearExpr


def build(problem: Problem, sizes: Sizes) -> tuple[Built, Taken]:
    """Return the model with every rule and no objective, and what stages take. There must be at least one stage."""
    draft = Draft()
    model, v = draft.model, declare(draft, sizes)
    built = Built(draft, v, problem, sizes)
    ends(model, v, sizes)
    one(model, v)
    nonempty(model, v, sizes, problem.rules.min_blocks)
    once(model, v, sizes)
    cards(built)
    offload(built)
    taken = taken_of(built, sizes.memory)
    memory(built, taken)
    stage(built, taken)
    pools(built, taken)
    together(built)
    pins(model, v, problem, sizes)
    first(model, v, problem, sizes)
    last(model, v, problem, sizes)
    order(model, v, problem, sizes)
    max_nodes(built)
    measured(model, v, problem, sizes)
    hops(model, v, problem, sizes)
    room(built)
    alike(built)
    return built, taken


def cards(built: Built) -> None:
    """Of devices that occupy one card, at most one is used."""
    holders: dict[str, set[int]] = {}
    for c, number in enumerate(built.sizes.classes):
        members = built.problem.classes[number].members
        for card in members[0].cards:
            # A card of one member's own is no other's: its class alone is on it, as often as it has members.
            if len(members) == 1 or card in members[1].cards:
                holders.setdefault(card, set()).add(c)
    for classes in holders.values():
        if len(classes) > 1 or built.sizes.counts[min(classes)] > 1:
            built.draft.model.add_at_most_one(row[c] for row in built.v.use for c in classes)


def offload(built: Built) -> None:
    """No more items of a kind leave their experts with a host than the stage holds."""
    v, sizes, model = built.v, built.sizes, built.draft.model
    for q, kind in enumerate(sizes.kinds):
        members = set(kind)
        counts = [0]
        for i in range(sizes.items):
            counts.append(counts[-1] + (i in members))
        sums = sums_of(built, tuple(counts))
        for k, row in enumerate(v.n):
            model.add(v.all_n[k][q] == _Sum.sum([n[q] for n in row if q in n]))
            model.add(v.all_n[k][q] <= sums[k + 1] - sums[k])
            for c, n in enumerate(row):
                if q in n:
                    model.add(n[q] <= len(kind) * v.use[k][c])


def memory(built: Built, taken: Taken) -> None:
    """What a stage takes is within the cap of its class; a class that saves something has the only stage."""
    v, model = built.v, built.draft.model
    for k, row in enumerate(v.use):
        for c, literal in enumerate(row):
            model.add(load(built, taken, k, c) <= taken.memories.caps[c] * literal)
    for c, a in enumerate(v.a):
        if not isinstance(a, int):
            model.add_implication(a, v.use[0][c])
            if len(v.used) > 1:
                model.add_implication(a, v.used[1].negated())


def stage(built: Built, taken: Taken) -> None:
    """What a stage takes, wherever it is, is within the cap of its class: the same again for classes alike in loads."""
    v, loads = built.v, taken.memories.loads
    if len({(each.weights, each.rest) for each in loads}) > 1:
        return
    experts = [max(each.experts[q] for each in loads) for q in range(len(built.sizes.kinds))]
    for k, row in enumerate(v.use):
        cuts = [sums_of(built, table) for table in (loads[0].weights, loads[0].rest)]
        total = _Sum.sum([sums[k + 1] - sums[k] for sums in cuts]) - _Sum.weighted_sum(list(v.all_n[k]), experts)
        beside = [each.first * row[c] - each.tied * v.a[c] for c, each in enumerate(loads) if k == 0]
        built.draft.model.add(_Sum.sum([total, *beside]) <= _Sum.weighted_sum(list(row), list(taken.memories.caps)))


def pools(built: Built, taken: Taken) -> None:
    """What all stages put into a pool is at most its budget."""
    sizes, memories = built.sizes, taken.memories
    stages = range(sizes.stages)
    for pool, budget in memories.budgets:
        drawn = [c for c, group in enumerate(sizes.groups) if pool in group.node.pools]
        hosted = [c for c, group in enumerate(sizes.groups) if pool == group.node.host_pool]
        loads = [load(built, taken, k, c) for k in stages for c in drawn]
        stays = [left(built, memories, k, c) for k in stages for c in hosted]
        kept = [memories.loads[c].kept * built.v.use[0][c] for c in hosted]
        held = [memories.loads[c].held * built.v.use[k][c] for k in stages for c in drawn if memories.loads[c].held]
        if loads or stays:
            built.draft.model.add(_Sum.sum([*loads, *held, *stays, *kept]) <= budget)


def together(built: Built) -> None:
    """The devices of one machine follow one another, unless they may stand apart."""
    v, sizes, draft = built.v, built.sizes, built.draft
    if built.problem.rules.apart:
        return
    for m, positions in enumerate(sizes.machines):
        if sum(sizes.counts[c] for c in positions) > 1:
            begin = [draft.boolean(f"begin[{k},{m}]", _begins(k, positions)) for k in range(sizes.stages)]
            for k, literal in enumerate(begin):
                now = [v.use[k][c] for c in positions]
                before = [v.use[k - 1][c] for c in positions] if k else []
                draft.model.add(_Sum.sum([literal, *before]) >= _Sum.sum(now))
            draft.model.add_at_most_one(begin)


def max_nodes(built: Built) -> None:
    """No more machines are used than allowed."""
    v, sizes, model = built.v, built.sizes, built.draft.model
    for on, positions in zip(v.on, sizes.machines, strict=True):
        for row in v.use:
            for c in positions:
                model.add_implication(row[c], on)
    if sizes.most_nodes is not None:
        model.add(nodes(built) <= sizes.most_nodes)


def nodes(built: Built) -> cp_model.LinearExpr:
    """Return how many machines are used."""
    single = [c for c, group in enumerate(built.sizes.groups) if group.node.machine is None]
    return _Sum.sum([*built.v.on, *(row[c] for row in built.v.use for c in single)])


def room(built: Built) -> None:
    """Memories hold caches of the tokens asked for."""
    if built.sizes.tokens is not None:
        taken = taken_of(built, built.sizes.tokens)
        memory(built, taken)
        stage(built, taken)
        pools(built, taken)


def alike(built: Built) -> None:
    """Of machines that could be exchanged whole, the earlier comes first."""
    for machines in built.sizes.twins:
        for earlier, later in pairwise(machines):
            for k, row in enumerate(built.v.use):
                before = [built.v.use[j][c] for j in range(k) for c in earlier]
                for c in later:
                    built.draft.model.add_bool_or([row[c].negated(), *before])


def load(built: Built, taken: Taken, k: int, c: int) -> cp_model.LinearExpr:
    """Return what stage k takes of a device of class c, 0 where it is on another."""
    loads, n = taken.memories.loads[c], built.v.n[k][c]
    terms = [taken.weights[k][c], taken.rest[k][c], *n.values()]
    total = _Sum.weighted_sum(terms, [1, 1, *(-loads.experts[q] for q in n)])
    return total if k else total + loads.first * built.v.use[0][c] - loads.tied * built.v.a[c]


def left(built: Built, memories: Memories, k: int, c: int) -> cp_model.LinearExpr:
    """Return the experts that stage k leaves with the host of a device of class c, those of every rank of a group."""
    n, experts = built.v.n[k][c], memories.loads[c].experts
    return _Sum.weighted_sum(list(n.values()), [built.sizes.width(c) * experts[q] for q in n])


def _begins(k: int, positions: tuple[int, ...]) -> Callable[[Placed], bool]:
    return lambda placed: (
        any(placed.is_on(k, c) for c in positions) and not any(placed.is_on(k - 1, c) for c in positions if k)
    )

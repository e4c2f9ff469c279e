"""The specification: what a placement must satisfy, in plain Python.

Every rule of docs/model.md has one function of its name here. The searches and the CP-SAT model say the same again,
and tests make them agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from solver.flow.rules import chain_cover, chain_hops, chain_order, chain_together
from solver.measures import nodes_used, pool_loads, stage_load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.problem import Placement, Problem

__all__ = ["Violation", "violations"]


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that a placement breaks, and the witness, in a sentence."""

    rule: str
    witness: str


def violations(problem: Problem, placement: Placement) -> tuple[Violation, ...]:
    """Return every rule that the placement breaks with a witness; empty if it is allowed."""
    known = {node.name for node in problem.nodes}
    strangers = [stage.node for stage in placement.stages if stage.node not in known]
    if strangers:
        return (Violation("known", f'"{strangers[0]}" is no node of the problem'),)
    blocks = len(problem.blocks)
    beyond = [(stage.node, index) for stage in placement.stages for index in stage.offloaded if index >= blocks]
    if beyond:
        return (Violation("offload", f'"{beyond[0][0]}" leaves experts of block {beyond[0][1]} of {blocks}'),)
    rules = (
        *(cover, once, cards, offload, memory, pools, together),
        *(pins, first, last, order, exclude, max_nodes, min_blocks, measured, hops),
    )
    return tuple(Violation(rule.__name__, witness) for rule in rules for witness in rule(problem, placement))


def cover(problem: Problem, placement: Placement) -> Iterator[str]:
    """Stages are nonempty and cover all items in order, each item once; with replicas, those of every chain."""
    if problem.rules.replicas:
        yield from chain_cover(problem, placement)
        return
    if any(stage.chain for stage in placement.stages):
        yield "there are several chains where one is allowed"
    reached = 0
    for number, stage in enumerate(placement.stages):
        if stage.start != reached or stage.end <= stage.start:
            yield f"stage {number} is [{stage.start}, {stage.end}) where [{reached}, …) was due"
        reached = stage.end
    if reached != len(problem.items):
        yield f"the stages end at {reached} of {len(problem.items)}"


def once(_problem: Problem, placement: Placement) -> Iterator[str]:
    """Every node takes at most one stage."""
    seen: set[str] = set()
    for stage in placement.stages:
        if stage.node in seen:
            yield f'"{stage.node}" takes two stages'
        seen.add(stage.node)


def cards(problem: Problem, placement: Placement) -> Iterator[str]:
    """Of devices that occupy one card, at most one is used."""
    holder: dict[str, str] = {}
    for stage in placement.stages:
        for card in problem.nodes_by_name[stage.node].cards:
            other = holder.setdefault(card, stage.node)
            if other != stage.node:
                yield f'"{stage.node}" and "{other}" both occupy "{card}"'


def offload(problem: Problem, placement: Placement) -> Iterator[str]:
    """Only blocks of the stage that have experts leave them with the host, each once, where the device has a host.

    A device with measured times leaves nothing: they were measured with everything on it.
    """
    for stage in placement.stages:
        node = problem.nodes_by_name[stage.node]
        blocks = problem.shape_of(node).blocks
        if stage.offloaded and (node.host_pool is None or node.stage_ns is not None):
            yield f'"{stage.node}" has no host to leave experts with'
        for index in stage.offloaded:
            if not stage.start <= index < stage.end or not blocks[index].expert_bytes:
                yield f'"{stage.node}" leaves experts of block {index}, which it has none of'
        if any(one >= other for one, other in pairwise(stage.offloaded)):
            yield f'"{stage.node}" names blocks whose experts it leaves out of order or twice'


def pools(problem: Problem, placement: Placement) -> Iterator[str]:
    """What all stages put into a pool is at most its budget; a memory of a node's own is the rule on memory's."""
    loads = pool_loads(problem, placement) if problem.pools else {}
    for pool in problem.pools:
        load = 0 if pool.name not in loads else loads[pool.name].load_bytes
        if load > pool.budget_bytes:
            yield f'pool "{pool.name}" would hold {load} bytes with a budget of {pool.budget_bytes}'


def together(problem: Problem, placement: Placement) -> Iterator[str]:
    """The devices of one machine follow one another, unless they may stand apart; with replicas, their steps do."""
    if problem.rules.apart:
        return
    if problem.rules.replicas:
        yield from chain_together(problem, placement)
        return
    left: set[str] = set()
    machines = [problem.nodes_by_name[stage.node].machine for stage in placement.stages]
    for machine, following in pairwise(machines):
        if machine is not None and machine != following:
            left.add(machine)
        if following in left:
            yield f'the devices of "{following}" do not follow one another'


def memory(problem: Problem, placement: Placement) -> Iterator[str]:
    """The load of a stage is at most its node's budget, and a node without a budget takes none."""
    for stage in placement.stages:
        load = stage_load(problem, stage)
        if load.load_bytes > load.budget_bytes or load.budget_bytes <= 0:
            yield f'"{stage.node}" would hold {load.load_bytes} bytes with a budget of {load.budget_bytes}'


def pins(problem: Problem, placement: Placement) -> Iterator[str]:
    """A pinned item is on its node."""
    for item, node in problem.rules.pins:
        for stage in placement.stages:
            if stage.start <= item < stage.end and stage.node != node:
                yield f'block {item} is on "{stage.node}", pinned to "{node}"'


def first(problem: Problem, placement: Placement) -> Iterator[str]:
    """The first stage is on the node named for it; with replicas and chains, all first stages are."""
    wanted = problem.rules.first
    ends = placement.stages[:1]
    if problem.rules.replicas:
        ends = tuple(stage for stage in placement.stages if stage.start == 0)
    for stage in ends:
        if wanted is not None and stage.node != wanted:
            yield f'the first stage is on "{stage.node}", not on "{wanted}"'


def last(problem: Problem, placement: Placement) -> Iterator[str]:
    """The last stage is on the node named for it; with replicas and chains, all last stages are."""
    wanted = problem.rules.last
    ends = placement.stages[-1:]
    if problem.rules.replicas:
        ends = tuple(stage for stage in placement.stages if stage.end == len(problem.items))
    for stage in ends:
        if wanted is not None and stage.node != wanted:
            yield f'the last stage is on "{stage.node}", not on "{wanted}"'


def order(problem: Problem, placement: Placement) -> Iterator[str]:
    """Nodes named in an order follow each other in it, where they are used; with replicas, in every chain."""
    if problem.rules.replicas:
        yield from chain_order(problem, placement)
        return
    rank = {node: number for number, node in enumerate(problem.rules.order)}
    ranked = [stage.node for stage in placement.stages if stage.node in rank]
    for before, after in pairwise(ranked):
        if rank[before] > rank[after]:
            yield f'"{after}" comes after "{before}" against the order asked for'


def exclude(problem: Problem, placement: Placement) -> Iterator[str]:
    """An excluded node takes nothing."""
    for stage in placement.stages:
        if stage.node in problem.rules.exclude:
            yield f'"{stage.node}" is excluded'


def max_nodes(problem: Problem, placement: Placement) -> Iterator[str]:
    """No more nodes are used than allowed."""
    limit, used = problem.rules.max_nodes, nodes_used(problem, placement)
    if limit is not None and used > limit:
        yield f"{used} nodes are used, {limit} allowed"


def min_blocks(problem: Problem, placement: Placement) -> Iterator[str]:
    """A used node holds at least so many blocks."""
    for stage in placement.stages:
        if stage.end - stage.start < problem.rules.min_blocks:
            count = stage.end - stage.start
            yield f'"{stage.node}" holds {count} blocks, at least {problem.rules.min_blocks} asked for'


def measured(problem: Problem, placement: Placement) -> Iterator[str]:
    """A node with measured times holds no more blocks than they were measured for."""
    for stage in placement.stages:
        times = problem.nodes_by_name[stage.node].stage_ns
        if times is not None and stage.end - stage.start > len(times):
            yield f'"{stage.node}" would hold {stage.end - stage.start} blocks, measured up to {len(times)}'


def hops(problem: Problem, placement: Placement) -> Iterator[str]:
    """No two stages in a row are joined by a forbidden link; with replicas, none is cut off by such links."""
    if problem.rules.replicas:
        yield from chain_hops(problem, placement)
        return
    for stage, following in pairwise(placement.stages):
        if problem.link(stage.node, following.node).forbidden:
            yield f'the link from "{stage.node}" to "{following.node}" is forbidden'

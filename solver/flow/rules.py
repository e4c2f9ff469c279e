"""What rules about order and seams ask of replicated stages and parallel chains; `solver.rules` calls them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from solver.flow.chains import chains_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.problem import Placement, Problem

__all__ = ["chain_cover", "chain_hops", "chain_order", "chain_together"]


def chain_cover(problem: Problem, placement: Placement) -> Iterator[str]:
    """Chains are numbered 0, 1, … as listed; the steps of each are nonempty and cover all items in order, each once."""
    if not placement.stages:
        yield f"there is no chain for {len(problem.items)} items"
    numbers = [stage.chain for stage in placement.stages]
    listed = list(dict.fromkeys(numbers))
    if listed != list(range(len(listed))) or numbers != sorted(numbers):
        yield f"chains are numbered {', '.join(map(str, listed))} where 0, 1, … in a row were due"
    for number, chain in enumerate(chains_of(placement)):
        reached = 0
        for step in chain:
            if step.start != reached or step.end <= step.start:
                yield f"chain {number} has [{step.start}, {step.end}) where [{reached}, …) was due"
            reached = step.end
        if reached != len(problem.items):
            yield f"chain {number} ends at {reached} of {len(problem.items)}"


def chain_hops(problem: Problem, placement: Placement) -> Iterator[str]:
    """Every node has an allowed link from some node of the step before its own, and to some node of the step after."""
    for chain in chains_of(placement):
        for step, following in pairwise(chain):
            for source in step.nodes:
                if all(problem.link(source, target).forbidden for target in following.nodes):
                    yield f'every link from "{source}" to the next step is forbidden'
            for target in following.nodes:
                if all(problem.link(source, target).forbidden for source in step.nodes):
                    yield f'every link to "{target}" from the step before is forbidden'


def chain_order(problem: Problem, placement: Placement) -> Iterator[str]:
    """In every chain, nodes named in an order stand on steps in it; those of one step come neither before nor after."""
    rank = {node: number for number, node in enumerate(problem.rules.order)}
    for chain in chains_of(placement):
        latest: str | None = None
        for step in chain:
            ranked = [node for node in step.nodes if node in rank]
            for node in ranked:
                if latest is not None and rank[node] < rank[latest]:
                    yield f'"{node}" comes after "{latest}" against the order asked for'
            latest = max((node for node in (latest, *ranked) if node is not None), key=rank.__getitem__, default=None)


def chain_together(problem: Problem, placement: Placement) -> Iterator[str]:
    """Devices of one machine stand on steps of one chain that follow one another, several on one step or not."""
    steps: dict[str, set[tuple[int, int]]] = {}
    for number, chain in enumerate(chains_of(placement)):
        for place, step in enumerate(chain):
            for node in step.nodes:
                machine = problem.nodes_by_name[node].machine
                if machine is not None:
                    steps.setdefault(machine, set()).add((number, place))
    for machine, places in steps.items():
        (one, lowest), (other, highest) = min(places), max(places)
        if one != other or highest - lowest >= len(places):
            yield f'the devices of "{machine}" do not follow one another'

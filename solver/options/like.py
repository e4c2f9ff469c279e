"""Equal memories: so many nodes with so many cards each, where no fewer of either would do.

For every number of nodes the least number of cards is an option, unless fewer nodes do with as many. Whether a place
suffices depends on it alone, so that more nodes in the pool only add places.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.options.kinds import Family
from solver.options.option import Place
from solver.options.pool import GB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.options.kinds import Kind

__all__ = ["host_label", "like_place", "shapes"]


def shapes(least: int, widest: int, step: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield (nodes, cards of each) for at least `least` and at most `most` groups of `step` cards in all.

    Each node has equally many groups, as few as will do, and no more than `widest` cards.
    """
    before = 0
    for nodes in range(1, least + 1):
        groups = -(-least // nodes)
        # As many on fewer nodes do already.
        if groups != before and groups * step <= widest and groups * nodes <= most:
            yield nodes, groups * step
        before = groups


def like_place(kind: Kind, nodes: int, cards: int, fabric: str) -> Place:
    """Return the place of so many nodes with so many equal cards each; hosts have none."""
    if kind.type.family is Family.HOST:
        label = "CPU" if nodes == 1 else f"{nodes} nodes × {host_label(kind)}"
        cards = nodes if nodes > 1 else 0
        return Place(cpu=True, gpu_class="", fabric="", gpus_per_node=0, nodes=nodes, cards=cards, label=label)
    inside = f"{cards} × {kind.label}"
    on = f" on {fabric}" if fabric else ""
    return Place(
        cpu=False,
        gpu_class=kind.label,
        fabric=fabric,
        gpus_per_node=cards,
        nodes=nodes,
        cards=nodes * cards,
        label=inside if nodes == 1 else f"{nodes} nodes × {cards} {kind.label}{on}",
    )


def host_label(kind: Kind) -> str:
    """Return what a host is called beside others."""
    return f"CPU of {kind.memory_bytes / GB:,.0f} GB"

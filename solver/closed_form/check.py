"""A finished placement beside the closed forms: was the assumed imbalance enough, how many nodes does it take."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from solver.closed_form.numbers import ExactNumber, ratio_at_least_one, whole
from solver.closed_form.route import fewest_largest
from solver.closed_form.topology import REFERENCE_FACTOR
from solver.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DeviceLoad", "PlanCheck", "check_plan", "imbalance_ceiling", "indivisible_blocks"]


@dataclass(frozen=True, slots=True)
class DeviceLoad:
    """A device that holds a block or the head, with what it holds and what it may hold, in bytes."""

    node: str
    load_bytes: int
    budget_bytes: int


@dataclass(frozen=True, slots=True)
class PlanCheck:
    """The closed forms beside what a placement measures; every ratio is exact.

    Counts are None where all nodes do not hold the total. `imbalance_ceiling` is given for equal budgets alone.
    """

    minimum_nodes: int | None
    recommended_nodes: int | None
    assumed_imbalance: Fraction
    nodes_used: int
    devices_used: int
    imbalance: Fraction
    weighted_imbalance: Fraction
    imbalance_ceiling: Fraction | None
    assumption_holds: bool


def check_plan(
    total_bytes: int,
    node_budgets_bytes: Sequence[int],
    used: Sequence[DeviceLoad],
    largest_block_bytes: int,
    *,
    imbalance_factor: ExactNumber = REFERENCE_FACTOR,
) -> PlanCheck:
    """Return the closed forms beside the loads of the devices that a placement uses.

    `node_budgets_bytes` has one entry for every node on offer, the budgets of its devices summed.

    Raises:
        InputError: no device is used, nothing is loaded, or a budget of a used device is not above 0.
    """
    total = whole(total_bytes, "total in bytes", least=1)
    factor = ratio_at_least_one(imbalance_factor, "imbalance factor")
    loads = sum(device.load_bytes for device in used)
    if loads <= 0 or any(device.budget_bytes <= 0 for device in used):
        raise InputError("placement", "it loads nothing, or a device without a budget; expected loads on real budgets.")
    budgets = [device.budget_bytes for device in used]
    imbalance = Fraction(max(device.load_bytes for device in used) * len(used), loads)
    fullest = max(Fraction(device.load_bytes, device.budget_bytes) for device in used)
    weighted = fullest * sum(budgets) / loads
    equal = len(set(budgets)) == 1
    return PlanCheck(
        minimum_nodes=fewest_largest(node_budgets_bytes, total),
        recommended_nodes=fewest_largest(node_budgets_bytes, total * factor),
        assumed_imbalance=factor,
        nodes_used=len({device.node for device in used}),
        devices_used=len(used),
        imbalance=imbalance,
        weighted_imbalance=weighted,
        imbalance_ceiling=imbalance_ceiling(len(used), largest_block_bytes, loads) if equal else None,
        assumption_holds=(imbalance if equal else weighted) <= factor,
    )


def imbalance_ceiling(devices: int, largest_block_bytes: int, loads_bytes: int) -> Fraction:
    """Return 1 + (m - 1) · w_max / W: no more imbalance is ever needed on m equal devices without a memory limit.

    A sequence can be cut into m runs whose sums differ by w_max at most: Bárány and Grinberg, "Block partitions of
    sequences".
    """
    return 1 + Fraction((devices - 1) * largest_block_bytes, loads_bytes)


def indivisible_blocks(block_bytes: Sequence[int], budget_bytes: int) -> tuple[int, ...]:
    """Return the blocks that end a run when equal nodes are filled from the front, each as full as it goes.

    Filling from the front needs the fewest equal nodes, so these blocks are why the arithmetic minimum is not reached.

    Raises:
        InputError: a block is larger than the budget.
    """
    ends, held = [], 0
    for index, size in enumerate(block_bytes):
        if size > budget_bytes:
            raise InputError(f"block {index}", f"{size} B; expected the budget of {budget_bytes} B at most.")
        if held + size > budget_bytes:
            ends.append(index)
            held = 0
        held += size
    return tuple(ends)

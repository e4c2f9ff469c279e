"""The memory of a node: what is physically usable, what is kept in reserve, and what remains to be placed in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Protocol

from solver.closed_form.numbers import gib, printable, truth, whole
from solver.errors import InputError
from tensors.units import GIB

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["REFERENCE_RESERVE", "Memory", "NodeMemory", "PooledMemory", "ReservePolicy"]


@dataclass(frozen=True, slots=True)
class ReservePolicy:
    """What is kept free of every memory: the larger of a fraction, rounded up to a byte, and a floor.

    Both numbers are policy, not measurement: they are shown with every figure that follows from them.

    Raises:
        InputError: the fraction is not within 0 … 1, or the floor is no integer of 0 or more.
    """

    fraction: Fraction
    floor_bytes: int

    def __post_init__(self) -> None:
        if not isinstance(self.fraction, Fraction) or not 0 <= self.fraction <= 1:
            raise InputError("reserve fraction", "it is no exact fraction within 0 … 1; expected one such as 1/5.")
        whole(self.floor_bytes, "reserve floor", least=0)

    def bytes_of(self, usable_bytes: int) -> int:
        """Return the reserve of a memory of this size."""
        return max(ceil(self.fraction * usable_bytes), self.floor_bytes)


REFERENCE_RESERVE = ReservePolicy(fraction=Fraction(1, 5), floor_bytes=8 * GIB)


class Memory(Protocol):
    """What the planner asks of a node, however many memories it has."""

    @property
    def name(self) -> str:
        """Return the node's name."""

    @property
    def physical_usable_bytes(self) -> int:
        """Return what firmware and fixed carve-outs leave, every memory counted once."""

    @property
    def reserve_bytes(self) -> int:
        """Return what no plan may use."""

    @property
    def placement_budget_bytes(self) -> int:
        """Return what a plan may use; not above 0 where the reserve takes all."""


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """One memory with one reserve: a node's only pool, or its pools seen as one.

    `physical_usable_bytes` is what firmware and fixed carve-outs leave, counted once; `unified` says that a GPU shares
    it. `ceiling_bytes` limits the budget where an operating system lets a GPU take no more.

    Raises:
        InputError: the name is blank, a size is no integer above 0, or `unified` is no bool.
    """

    name: str
    physical_usable_bytes: int
    unified: bool = False
    reserve: ReservePolicy = REFERENCE_RESERVE
    ceiling_bytes: int | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        whole(self.physical_usable_bytes, f"{printable(self.name)}, physically usable memory in bytes", least=1)
        truth(self.unified, f"{printable(self.name)}, unified")
        if self.ceiling_bytes is not None:
            whole(self.ceiling_bytes, f"{printable(self.name)}, ceiling in bytes", least=1)

    @classmethod
    def from_host(
        cls, name: str, system_bytes: int, gpu_bytes: int, *, unified: bool, reserve: ReservePolicy = REFERENCE_RESERVE
    ) -> NodeMemory:
        """Return the combined view of what a host reports: RAM and discrete GPU memory as one, with one reserve.

        Raises:
            InputError: RAM is not above 0, GPU memory is below 0, or a unified host reports GPU memory beside its RAM.
        """
        _check_host(name, system_bytes, gpu_bytes, unified=unified)
        return cls(name, system_bytes + gpu_bytes, unified, reserve)

    @property
    def reserve_bytes(self) -> int:
        """Return what no plan may use."""
        return self.reserve.bytes_of(self.physical_usable_bytes)

    @property
    def placement_budget_bytes(self) -> int:
        """Return usable less reserve, never above the ceiling; not above 0 where the reserve takes all."""
        budget = self.physical_usable_bytes - self.reserve_bytes
        return budget if self.ceiling_bytes is None else min(budget, self.ceiling_bytes)


@dataclass(frozen=True, slots=True)
class PooledMemory:
    """A node whose memories are kept apart, each under its own reserve, as the solver sees them.

    A pool that its reserve takes whole adds nothing: unlike a node, it need not be used because the others are.

    Raises:
        InputError: the name is blank, or there is no pool.
    """

    name: str
    pools: tuple[NodeMemory, ...]

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not self.pools:
            raise InputError(printable(self.name), "it has no memory; expected one pool or more.")

    @classmethod
    def from_host(
        cls,
        name: str,
        system_bytes: int,
        gpu_bytes: Sequence[int],
        *,
        reserve: ReservePolicy = REFERENCE_RESERVE,
        gpu_reserve: ReservePolicy = REFERENCE_RESERVE,
    ) -> PooledMemory:
        """Return the separate view of a host with discrete GPUs: its RAM, then each card.

        Raises:
            InputError: RAM or the memory of a card is no integer above 0.
        """
        _check_host(name, system_bytes, sum(gpu_bytes), unified=False)
        host = NodeMemory(f"{name}/ram", system_bytes, reserve=reserve)
        cards = (NodeMemory(f"{name}/gpu{i}", size, reserve=gpu_reserve) for i, size in enumerate(gpu_bytes))
        return cls(name, (host, *cards))

    @property
    def physical_usable_bytes(self) -> int:
        """Return the sum over all pools."""
        return sum(pool.physical_usable_bytes for pool in self.pools)

    @property
    def reserve_bytes(self) -> int:
        """Return the sum of the reserves of all pools."""
        return sum(pool.reserve_bytes for pool in self.pools)

    @property
    def placement_budget_bytes(self) -> int:
        """Return the sum of the budgets above 0."""
        return sum(max(pool.placement_budget_bytes, 0) for pool in self.pools)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name.strip():
        raise InputError("node name", "it is blank; expected a name. Give every node one.")


def _check_host(name: str, system_bytes: int, gpu_bytes: int, *, unified: bool) -> None:
    _check_name(name)
    shown = printable(name)
    whole(system_bytes, f"{shown}, system memory in bytes", least=1)
    whole(gpu_bytes, f"{shown}, GPU memory in bytes", least=0)
    if truth(unified, f"{shown}, unified") and gpu_bytes > 0:
        raise InputError(
            shown,
            f"{gib(gpu_bytes, 3)} of GPU memory beside unified memory; expected none, for a unified GPU draws on the "
            "system memory and would be counted twice. Leave the GPU memory out.",
        )

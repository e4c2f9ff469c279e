"""Memories that devices draw on, counted once however many devices do, and what a device draws from where.

A problem whose devices each have one memory of their own needs none of this.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Draws", "Pool"]


@dataclass(frozen=True, slots=True)
class Pool:
    """One physical memory of a machine. The loads of all that draw on it are at most its budget.

    `held_bytes` of the budget are taken whatever is placed.
    """

    name: str
    budget_bytes: int
    machine: str
    held_bytes: int = 0

    @property
    def room_bytes(self) -> int:
        """Return what stages may put there."""
        return self.budget_bytes - self.held_bytes


@dataclass(frozen=True, slots=True)
class Draws:
    """What a device takes from where.

    Every pool in `pools` takes the whole load of the device's stage: one for a device, as many as it is wide for a
    tensor-parallel group, whose load is that of one rank. `cards` are the processors that it occupies: of two devices
    that share one, at most one is used. `host_pool` takes the experts that a stage leaves with the host, read at
    `host_bytes_per_second`; None where a device has no host memory to leave anything with. `shape` numbers the loads of
    blocks on such a device: 0 for those of the problem, n for `Problem.shapes[n - 1]`.
    """

    pools: tuple[str, ...]
    cards: tuple[str, ...]
    host_pool: str | None
    host_bytes_per_second: int | None
    shape: int

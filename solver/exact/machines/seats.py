"""Where devices stand."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Seat"]


class Seat(NamedTuple):
    """A device by its machine's class, which machine of the class it is in, and its place in the machine."""

    machine: int
    member: int
    device: int

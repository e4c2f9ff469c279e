"""What to type on each machine: commands as words with variables of their own, and why there may be none."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solver.cluster import ClusterNode
    from solver.workload import EngineName

__all__ = ["Command", "Export", "MachineCommands", "Refusal", "Run", "address_of", "refused_address"]

_ADDRESS = re.compile(r"[A-Za-z0-9._:\[\]-]+", re.ASCII)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Run:
    """The half-open run of blocks [start, end) on a device such as desk/gpu0; the last run of a plan has the head.

    Of the blocks of `offloaded` something stays with the device's host.
    """

    start: int
    end: int
    device: str
    offloaded: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments, and the variables it is started with. `purpose` says what it is for."""

    purpose: str
    environment: tuple[tuple[str, str], ...]
    words: tuple[str, ...]

    @property
    def shell(self) -> str:
        """Return the line as a shell takes it, everything quoted that has to be."""
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.environment]
        return " ".join([*variables, shlex.join(self.words)])


@dataclass(frozen=True, slots=True)
class MachineCommands:
    """What is typed on one machine, in order. `address` is None where the cluster does not say it."""

    node: str
    address: str | None
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Export:
    """The machines in the order in which they are started, and what is assumed. All of it was emulated."""

    engine: EngineName
    build: str
    machines: tuple[MachineCommands, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a plan cannot be typed for an engine."""

    engine: EngineName
    reason: str


def address_of(machine: ClusterNode) -> str:
    """Return the address of a machine, or a word that stands for it where the cluster does not say it."""
    return machine.address if machine.address is not None else f"ADDRESS_OF_{_UNSAFE.sub('_', machine.name)}"


def refused_address(machine: ClusterNode) -> str | None:
    """Return why the address of a machine cannot be typed; None where it can."""
    if _ADDRESS.fullmatch(address_of(machine)):
        return None
    return f"the address of {machine.name} has characters that no address has; expected a name or a number."

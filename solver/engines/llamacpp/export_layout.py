"""Who does what in an export: local devices, servers, and which host takes what of a run stays behind."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from solver.engines.commands import address_of, refused_address
from solver.engines.llamacpp.facts import HOST
from solver.engines.llamacpp.movable import all_blocks_pattern, movable_bytes, pattern_of
from solver.engines.llamacpp.placement import override_of
from solver.engines.llamacpp.seats import seats_of
from solver.engines.seating import Kind, host_pool_of
from solver.errors import InputError
from solver.workload import Offload
from tensors.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from solver.cluster import Cluster, ClusterNode
    from solver.engines.commands import Run
    from solver.engines.llamacpp.facts import Assignment, DeviceBytes
    from solver.engines.llamacpp.seats import Seat
    from tensors.inventory import Inventory

__all__ = ["Layout", "check_moved", "layout_of", "moved_flags", "over_budgets"]

_PORT: Final = 50052
"""Of the first server of a machine where the cluster names none (ggml-rpc-server)."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The head, the device of every run (None on its host), servers with their ports in the order of their numbers.

    `helpers` are processors that are served to take what cards beside them leave, and hold no blocks; they come behind
    all other devices. `offloaded` are the blocks of every run that leave something.
    """

    head: ClusterNode
    seats: tuple[Seat, ...]
    names: tuple[str | None, ...]
    helpers: tuple[tuple[Seat, str], ...]
    servers: tuple[tuple[Seat, int], ...]
    offloaded: tuple[tuple[int, ...], ...]

    @property
    def devices(self) -> tuple[str, ...]:
        """Return the devices of the run by the engine's names."""
        return (*(name for name in self.names if name is not None), *(name for _, name in self.helpers))

    @property
    def device_seats(self) -> tuple[Seat, ...]:
        """Return what is behind each of them."""
        own = (seat for seat, name in zip(self.seats, self.names, strict=True) if name is not None)
        return (*own, *(seat for seat, _ in self.helpers))

    def moves(self) -> dict[str, list[int]]:
        """Return the blocks that leave something, by the buffer that takes it."""
        found: dict[str, list[int]] = {}
        for seat, blocks in zip(self.seats, self.offloaded, strict=True):
            if blocks:
                found.setdefault(self.buffer_beside(seat), []).extend(blocks)
        return found

    def buffer_beside(self, seat: Seat) -> str:
        """Return the buffer of the host that a card stands in: each server has one device, its first."""
        if seat.machine == self.head:
            return "CPU"
        port = next(port for other, port in self.servers if other.machine == seat.machine and other.is_host)
        return f"RPC0[{address_of(seat.machine)}:{port}]"


def layout_of(runs: Sequence[Run], cluster: Cluster) -> Layout | str:
    """Return who does what, or why it cannot be."""
    by_device = {seat.site.device: seat for seat in seats_of(cluster, frozenset())}
    missing = next((run.device for run in runs if run.device not in by_device), None)
    if missing is not None:
        return f"{missing} is no device of this engine."
    seats = tuple(by_device[run.device] for run in runs)
    head = next((node for node in cluster.nodes if node.head), seats[0].machine)
    names: list[str | None] = []
    servers: list[tuple[Seat, int]] = []
    for position, seat in enumerate(seats):
        reason = refused_address(seat.machine)
        if reason is not None:
            return reason
        if seat.machine.name != head.name:
            names.append(f"RPC{len(servers)}")
            servers.append(_server(seat))
        elif not seat.is_host:
            names.append(seat.local or f"DEVICE_OF_{seat.machine.name}")
        elif position:
            return f"blocks on the host of {head.name}, the head, come before all others; the plan has them later."
        else:
            names.append(None)
    helpers = _helpers(runs, seats, head, by_device.values(), servers)
    if isinstance(helpers, str):
        return helpers
    return Layout(head, seats, tuple(names), tuple(helpers), tuple(servers), tuple(run.offloaded for run in runs))


def _helpers(
    runs: Sequence[Run],
    seats: Sequence[Seat],
    head: ClusterNode,
    known: Iterable[Seat],
    servers: list[tuple[Seat, int]],
) -> list[tuple[Seat, str]] | str:
    """Return the processors that have to be served beside all others, put behind the servers; or why one cannot be."""
    processors = {seat.machine.name: seat for seat in known if seat.site.kind is Kind.PROCESSOR}
    helpers: list[tuple[Seat, str]] = []
    for run, seat in zip(runs, seats, strict=True):
        served = any(other.machine == seat.machine and other.is_host for other, _ in servers)
        if not run.offloaded or seat.machine == head or served:
            continue
        helper = processors.get(seat.machine.name)
        if helper is None:
            return (
                f"weights that {run.device} leaves stay with the head's host, {head.name}, or with a processor that is "
                f"served; {seat.machine.name} has no cpu = true."
            )
        helpers.append((helper, f"RPC{len(servers)}"))
        servers.append(_server(helper))
    return helpers


def _server(seat: Seat) -> tuple[Seat, int]:
    return seat, (seat.machine.rpc_port or _PORT) + seat.number


def moved_flags(layout: Layout, offload: Offload, inventory: Inventory | None) -> Iterator[str]:
    """Yield the flags that leave weights with hosts: a number of blocks where that says the same, else by name."""
    for buffer, blocks in layout.moves().items():
        count = None if inventory is None or buffer != "CPU" else _first_blocks(blocks, offload, inventory)
        if count is not None:
            yield from ("--n-cpu-moe", str(count))
        else:
            yield from ("-ot", f"{pattern_of(offload, blocks)}={buffer}")


def _first_blocks(blocks: Sequence[int], offload: Offload, inventory: Inventory) -> int | None:
    """Return the number of first blocks whose experts are those of the given blocks; None where there is none."""
    if offload is not Offload.EXPERTS:
        return None
    end = max(blocks) + 1
    with_experts = [block for block, (size, _) in enumerate(movable_bytes(inventory, offload)[:end]) if size]
    return end if with_experts == sorted(blocks) else None


def check_moved(assignment: Assignment, layout: Layout, offload: Offload, inventory: Inventory) -> None:
    """Refuse overrides that move another tensor than the plan, or to another place.

    Raises:
        InputError: a tensor would be elsewhere.
    """
    buffers = {device.buffer: number for number, device in enumerate(assignment.devices)} | {"CPU": HOST}
    wanted = {block: buffers[buffer] for buffer, blocks in layout.moves().items() for block in blocks}
    movable = re.compile(all_blocks_pattern(offload)) if wanted else None
    find = override_of(assignment)
    for tensor in inventory.tensors:
        moves = movable is not None and movable.search(tensor.name) is not None and tensor.block in wanted
        proper = wanted[tensor.block] if moves and tensor.block is not None else None
        if find(tensor.name) != proper:
            raise InputError(tensor.name, "it is not moved as planned.")


def over_budgets(rows: Sequence[tuple[DeviceBytes, Seat | None]], layout: Layout) -> Iterator[str]:
    """Yield a sentence for each memory that holds more than its budget, upper ends of what is computed in included."""
    head = layout.head
    held: dict[str, int] = {}
    budgets: dict[str, int] = {}
    for row, seat in rows:
        high = 0 if row.compute_bytes is None else row.compute_bytes[1]
        size = row.model_bytes + row.cache_bytes + row.state_bytes + row.output_bytes + high
        if seat is None:
            pool = f"{head.name}/unified" if head.unified else host_pool_of(head)
            budget = head.pool_budget_bytes
        else:
            pool, size = seat.site.pool, size + seat.backend.context_bytes[1]
            budget = seat.budget_bytes if seat.site.kind is Kind.CARD else seat.machine.pool_budget_bytes
            if size > seat.budget_bytes:
                yield _sentence(seat.site.device, size, seat.budget_bytes)
                continue
        held[pool] = held.get(pool, 0) + size
        budgets[pool] = budget
    for pool, size in held.items():
        if size > budgets[pool]:
            yield _sentence(pool, size, budgets[pool])


def _sentence(where: str, size: int, budget: int) -> str:
    return f"{where} would hold up to {format_bytes(size)} of a budget of {format_bytes(max(budget, 0))}."

"""Pools, what devices draw on, and shapes of a problem's document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.errors import InputError
from solver.pools import Draws, Pool
from solver.problem_file.names import distinct, listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solver.problem_file.document import NodePart, PoolPart

__all__ = ["draws_of", "pools_of"]


def pools_of(parts: tuple[PoolPart, ...], nodes: tuple[NodePart, ...], where: str) -> tuple[Pool, ...]:
    """Return the pools of a document; every name is that of one memory, every machine one that is there.

    Raises:
        InputError: a name is taken, by a pool or by a node that has a memory of its own; a machine is not there; or
            more is held than there is.
    """
    own = {part.name for part in nodes if part.pools is None}
    machines = {part.machine or part.name: None for part in nodes}
    seen: set[str] = set()
    for index, part in enumerate(parts):
        if part.name in seen or part.name in own:
            taken = "one name a memory, and a node without pools has one of its own name"
            raise InputError(
                f"{where}, pools[{index}].name", f'"{part.name}" is taken; expected {taken}. Rename one of them.'
            )
        seen.add(part.name)
        if part.machine not in machines:
            raise InputError(
                f"{where}, pools[{index}].machine",
                f'no node stands in "{part.machine}"; expected one of {listed(machines)}. Correct the name.',
            )
        if part.held_bytes > part.budget_bytes:
            raise InputError(
                f"{where}, pools[{index}].held_bytes",
                f"{part.held_bytes} is above budget_bytes {part.budget_bytes}; expected a part of it. Lower it.",
            )
    return tuple(Pool(part.name, part.budget_bytes, part.machine, part.held_bytes) for part in parts)


def draws_of(part: NodePart, name: str, pools: Mapping[str, Pool], shapes: int, where: str) -> Draws | None:
    """Return what a node draws on; None where it has one memory of its own.

    Raises:
        InputError: a pool is not there, stands in another machine or twice, a shape is not there, or a key needs
            another that is absent.
    """
    if part.pools is None:
        _refuse_without_pools(part, where)
        return None
    machine = part.machine or name
    for index, pool in enumerate(part.pools):
        _known(pool, machine, pools, f"{where}.pools[{index}]")
    if part.host_pool is not None:
        _known(part.host_pool, machine, pools, f"{where}.host_pool")
    elif part.host_bytes_per_second is not None:
        raise InputError(
            f"{where}.host_bytes_per_second", "there is no host_pool to read; expected one beside it. Give it."
        )
    shape = part.shape or 0
    if shape > shapes:
        raise InputError(f"{where}.shape", f"shape {shape} is not there; expected 0 to {shapes}. Correct it.")
    return Draws(
        pools=distinct(part.pools, "pool", f"{where}.pools"),
        cards=distinct((name,) if part.cards is None else part.cards, "card", f"{where}.cards"),
        host_pool=part.host_pool,
        host_bytes_per_second=part.host_bytes_per_second,
        shape=shape,
    )


def _refuse_without_pools(part: NodePart, where: str) -> None:
    given = {
        "cards": part.cards,
        "host_pool": part.host_pool,
        "host_bytes_per_second": part.host_bytes_per_second,
        "shape": part.shape,
    }
    for key, value in given.items():
        if value is not None:
            raise InputError(f"{where}.{key}", "the node names no pools; expected them beside it. Give pools.")


def _known(name: str, machine: str, pools: Mapping[str, Pool], where: str) -> None:
    pool = pools.get(name)
    if pool is None:
        known = f"expected one of {listed(pools)}" if pools else "expected one of pools[], which has none"
        raise InputError(where, f'no pool is called "{name}"; {known}. Correct the name.')
    if pool.machine != machine:
        raise InputError(
            where,
            f'"{name}" is a memory of "{pool.machine}", and the node stands in "{machine}"; '
            "expected one of its own machine. Correct the name.",
        )

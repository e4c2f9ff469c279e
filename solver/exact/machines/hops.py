"""What hops cost, and which devices of a machine are alike as the ends of hops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.measures import hop_ns, transfer_ns

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.exact.machines.fleet import Fleet, Machine
    from solver.exact.machines.stages import Prices
    from solver.limits import Limits
    from solver.problem import Problem

__all__ = ["Hops", "Port", "hops_of"]

# A machine by number, and a device of it by number.
Port = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Hops:
    """Costs of hops between ports; a port is one device that stands for all of its machine with equal hops.

    `ports[m][d]` is the port of a device. `inside[m]` are the costs from port to port within a machine, None where no
    such hop can be; `between` those from one machine to another, by (machine, port).
    """

    ports: tuple[tuple[int, ...], ...]
    inside: tuple[dict[tuple[int, int], int], ...]
    between: dict[tuple[Port, Port], int]


def hops_of(problem: Problem, fleet: Fleet, limits: Limits, prices: Prices) -> Hops:
    """Return the costs of all hops: nothing but where time has a price, never where one is forbidden or too slow."""
    known: dict[tuple[str, str], int] = {}
    alike = not problem.links.pairs

    def cost(source: str, target: str) -> int:
        key = ("", "") if alike else (source, target)
        if key not in known:
            known[key] = _cost(problem, source, target, limits, prices)
        return known[key]

    machines = fleet.machines
    ports = tuple(_ports(fleet, number, cost, alike=alike) for number in range(len(machines)))
    inside = tuple(_inside(machine, ports[number], cost) for number, machine in enumerate(machines))
    between = {}
    for one, machine in enumerate(machines):
        for other, following in enumerate(machines):
            if one == other and len(machine.members) == 1:
                continue
            targets = following.members[0 if one != other else 1]
            for port in set(ports[one]):
                for entry in set(ports[other]):
                    between[(one, port), (other, entry)] = cost(machine.members[0][port], targets[entry])
    return Hops(ports, inside, between)


def _cost(problem: Problem, source: str, target: str, limits: Limits, prices: Prices) -> int:
    if problem.link(source, target).forbidden:
        return prices.never
    if limits.max_slowest_ns is not None and transfer_ns(problem, source, target) > limits.max_slowest_ns:
        return prices.never
    return hop_ns(problem, source, target) * prices.time if prices.time else 0


def _ports(fleet: Fleet, number: int, cost: Callable[[str, str], int], *, alike: bool) -> tuple[int, ...]:
    """Return for every device of a machine the first one whose hops are all the same."""
    machine = fleet.machines[number]
    names = machine.members[0]
    if alike:
        return (0,) * len(names)
    others = [
        name
        for other, following in enumerate(fleet.machines)
        for name in (following.members[0] if other != number else (following.members[1:2] or ((),))[0])
    ]
    outer = [tuple((cost(name, other), cost(other, name)) for other in others) for name in names]
    groups: list[list[int]] = []
    found = []
    for device in range(len(names)):
        for group in groups:
            # Of three devices, two pairs alike make the third: each is held against the first of a group alone.
            if outer[device] == outer[group[0]] and _alike_inside(names, [group[0], device], cost):
                group.append(device)
                found.append(group[0])
                break
        else:
            groups.append([device])
            found.append(device)
    return tuple(found)


def _alike_inside(names: tuple[str, ...], group: list[int], cost: Callable[[str, str], int]) -> bool:
    """Return whether hops within a group all cost the same, and those to and from each other device do."""
    among = {cost(names[one], names[other]) for one in group for other in group if one != other}
    if len(among) > 1:
        return False
    rest = [device for device in range(len(names)) if device not in group]
    return all(
        len({(cost(names[one], names[other]), cost(names[other], names[one])) for one in group}) == 1 for other in rest
    )


def _inside(machine: Machine, ports: tuple[int, ...], cost: Callable[[str, str], int]) -> dict[tuple[int, int], int]:
    names = machine.members[0]
    found = {}
    for one, port in enumerate(ports):
        for other, entry in enumerate(ports):
            if one != other:
                found[port, entry] = cost(names[one], names[other])
    return found

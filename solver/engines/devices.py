"""Links and rules of machines as those of their devices, for every engine that may give a machine several."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations
from typing import TYPE_CHECKING, Final

from solver.errors import InputError
from solver.problem import Link, LinkPair, Links
from solver.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solver.cluster import Cluster, ClusterNode
    from solver.problem import Rules

__all__ = ["DeviceName", "cluster_links", "device_links", "device_rules", "one_device"]

_MOST_DEVICES: Final = 480
"""Links between devices are written out in pairs."""


@dataclass(frozen=True, slots=True)
class DeviceName:
    """What a problem calls a device, and the machine that it is in; the same where a machine has no other."""

    name: str
    machine: str


def cluster_links(cluster: Cluster) -> Links:
    """Return links between machines that are one device each."""
    return Links(
        default=Link(latency_ns=cluster.latency_ns, bytes_per_second=cluster.bytes_per_second, forbidden=False),
        pairs=tuple(
            LinkPair(
                source=link.source,
                target=link.target,
                link=Link(link.latency_ns, link.bytes_per_second, forbidden=link.forbidden),
            )
            for link in cluster.links
        ),
    )


def device_links(cluster: Cluster, devices: Sequence[DeviceName]) -> Links:
    """Return links between devices: those of their machines, and inside one its own.

    Raises:
        InputError: there are too many.
    """
    if len(devices) > _MOST_DEVICES:
        raise InputError(
            "cluster", f"it has {len(devices)} devices; expected at most {_MOST_DEVICES}. Lower the counts."
        )
    of_machines = cluster_links(cluster)
    between = {(pair.source, pair.target): pair.link for pair in of_machines.pairs}
    inside = {node.name: _inside(node) for node in cluster.nodes}
    pairs = []
    for source, target in permutations(devices, 2):
        same = source.machine == target.machine
        link = inside[source.machine] if same else between.get((source.machine, target.machine), of_machines.default)
        if link != of_machines.default:
            pairs.append(LinkPair(source.name, target.name, link))
    return Links(default=of_machines.default, pairs=tuple(pairs))


def _inside(node: ClusterNode) -> Link:
    if node.inside is None:
        return Link(latency_ns=0, bytes_per_second=None, forbidden=False)
    return Link(node.inside.latency_ns, node.inside.bytes_per_second, forbidden=False)


def device_rules(rules: Rules, devices: Sequence[DeviceName], takes: str) -> Rules:
    """Return the rules with names of machines made names of devices; excluded ones are no devices any more.

    `takes` is what each device takes, such as "a stage". A name that no device has stays: all rules are checked later.

    Raises:
        InputError: a rule names a machine of several devices where one device is meant.
    """

    def named(name: str, rule: str) -> str:
        device = one_device(name, devices, rule, takes)
        return name if device is None else device.name

    return replace(
        rules,
        pins=tuple((block, named(name, "pin")) for block, name in rules.pins),
        first=None if rules.first is None else named(rules.first, "first"),
        last=None if rules.last is None else named(rules.last, "last"),
        order=tuple(named(name, "order") for name in rules.order),
        exclude=(),
    )


def one_device(name: str, devices: Sequence[DeviceName], rule: str, takes: str) -> DeviceName | None:
    """Return the device of a name, its own or that of its machine; None where there is none.

    Raises:
        InputError: it is the name of a machine of several devices.
    """
    found = [device for device in devices if name == device.name]
    found = found or [device for device in devices if name == device.machine]
    if len(found) > 1:
        raise InputError(
            f"rule {rule}",
            f"{quoted(name)} has {len(found)} devices that take {takes} each; expected one of them. "
            f"Write {quoted(found[0].name)}.",
        )
    return found[0] if found else None

"""Links and rules of machines as those of their devices."""

from __future__ import annotations

import pytest

from solver.cluster_file import parse_cluster
from solver.engines.devices import DeviceName, device_links, device_rules, one_device
from solver.errors import InputError
from solver.problem import Link, LinkPair, Rules

CLUSTER = parse_cluster(
    """
[[node]]
name = "a"
memory = "64 GiB"

[[node]]
name = "b"
memory = "64 GiB"

[links]
latency = "5 ns"
rate = "9 B/s"
pair = [{ from = "a", to = "b", latency = "forbidden" }]
""",
    "cluster.toml",
)
DEVICES = (DeviceName("a/gpu0", "a"), DeviceName("a/gpu1", "a"), DeviceName("b", "b"))
INSIDE = Link(latency_ns=0, bytes_per_second=None, forbidden=False)
NONE = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)


def test_links_of_machines_hold_between_their_devices_and_inside_one_they_cost_nothing() -> None:
    """What is like the default is not written out."""
    barred = Link(latency_ns=0, bytes_per_second=None, forbidden=True)
    links = device_links(CLUSTER, DEVICES)

    assert Link(latency_ns=5, bytes_per_second=9, forbidden=False) == links.default
    assert (
        LinkPair("a/gpu0", "a/gpu1", INSIDE),
        LinkPair("a/gpu0", "b", barred),
        LinkPair("a/gpu1", "a/gpu0", INSIDE),
        LinkPair("a/gpu1", "b", barred),
    ) == links.pairs


def test_rules_name_devices_and_excluded_ones_are_none_any_more() -> None:
    """A machine of one device is that device; a name of no device is left for the check of all rules."""
    machines = (DeviceName("x/gpu1", "x"), DeviceName("b", "b"))
    rules = Rules(((0, "x"),), "b", "x", ("b", "x/gpu1", "z"), ("y",), 2, 3)

    assert Rules(((0, "x/gpu1"),), "b", "x/gpu1", ("b", "x/gpu1", "z"), (), 2, 3) == device_rules(
        rules, machines, "a stage"
    )
    assert NONE == device_rules(NONE, machines, "a stage")


def test_a_machine_of_several_devices_is_no_device() -> None:
    with pytest.raises(InputError) as caught:
        one_device("a", DEVICES, "last", "a rank")

    assert ('rule last: "a" has 2 devices that take a rank each; expected one of them. Write "a/gpu0".') == str(
        caught.value
    )
    assert one_device("z", DEVICES, "last", "a rank") is None
    assert DEVICES[1] == one_device("a/gpu1", DEVICES, "last", "a rank")

"""Machines and cards that nothing tells apart are searched as one; what tells them apart is seen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.problems import NO_RULES, problem_of

from solver.exact.machines.fleet import fleet_of
from solver.pools import Draws, Pool
from solver.problem import Link, LinkPair, Problem

NEAR = Link(latency_ns=7, bytes_per_second=None, forbidden=False)


def machines(count: int, cards: int, *, host_bytes: int = 50) -> Problem:
    """Return equal machines of equal cards beside a host memory each."""
    names = [(f"m{machine}", f"m{machine}-{card}") for machine in range(count) for card in range(cards)]
    bare = problem_of((1, 2, 3, 4), (9,) * len(names))
    nodes = tuple(
        replace(node, name=name, machine=machine, draws=Draws((f"{name}/own",), (name,), f"{machine}/ram", None, 0))
        for node, (machine, name) in zip(bare.nodes, names, strict=True)
    )
    hosts = tuple(Pool(f"m{machine}/ram", host_bytes, f"m{machine}") for machine in range(count))
    return replace(bare, nodes=nodes, pools=(*hosts, *(Pool(f"{name}/own", 9, machine) for machine, name in names)))


def shape_of(problem: Problem) -> list[tuple[int, list[int]]]:
    """Return how many machines each class has, and how large its sets of equal cards are."""
    return [(len(machine.members), [len(group) for group in machine.twins]) for machine in fleet_of(problem).machines]


def linked(problem: Problem, *pairs: tuple[str, str]) -> Problem:
    return replace(
        problem,
        links=replace(problem.links, pairs=tuple(LinkPair(source, target, NEAR) for source, target in pairs)),
    )


def test_equal_machines_of_equal_cards_are_one_class() -> None:
    assert [(3, [4])] == shape_of(machines(3, 4))


def test_links_that_are_the_same_within_every_machine_tell_nothing_apart() -> None:
    problem = machines(2, 3)
    names = [node.name for node in problem.nodes]
    inside = [(one, other) for one in names for other in names if one != other and one[:2] == other[:2]]

    assert [(2, [3])] == shape_of(linked(problem, *inside))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ((("m0-0", "m0-1"),), [(1, []), (1, [3])]),
        ((("m0-0", "m1-0"), ("m1-0", "m0-0")), [(2, [2])]),
        ((("m0-0", "m1-0"),), [(1, [2]), (1, [2])]),
    ],
)
def test_a_link_of_one_card_tells_it_apart(
    pairs: tuple[tuple[str, str], ...], expected: list[tuple[int, list[int]]]
) -> None:
    """Two machines joined by links that are the same both ways can still be exchanged, one with the other."""
    problem = linked(machines(2, 3), *pairs)

    assert expected == shape_of(problem)


def test_a_rule_that_names_a_card_tells_its_machine_apart() -> None:
    problem = replace(machines(2, 3), rules=replace(NO_RULES, first="m1-1"))

    assert [(1, [3]), (1, [2])] == shape_of(problem)


def test_devices_that_may_stand_apart_are_machines_of_their_own() -> None:
    problem = replace(machines(2, 3), rules=replace(NO_RULES, apart=True))

    assert [(6, [])] == shape_of(problem)
    assert not fleet_of(problem).counted


def test_memories_of_one_used_device_at_most_are_its_own() -> None:
    """Those of a pair of cards that are one device or two; the host's memory is shared."""
    problem = machines(1, 2)
    pair = replace(
        problem.nodes[0], name="both", draws=Draws(("m0-0/own", "m0-1/own"), ("m0-0", "m0-1"), "m0/ram", None, 0)
    )
    machine = fleet_of(replace(problem, nodes=(*problem.nodes, pair))).machines[0]

    assert ["m0/ram"] == [pool.name for pool in machine.resources]
    assert [9, 9, 9] == [device.kind.cap_bytes for device in machine.devices]
    assert ((0, 1),) == machine.twins

"""Clusters as pool nodes and back, memories by kind, and the sets of machines that reach one another."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.offers import GB, cluster, node
from support.pools import GOLDEN_NODES

from solver.cluster import Cluster, ClusterLink, GpuGroup, Reserve
from solver.errors import InputError
from solver.options import DEFAULT_POLICY
from solver.options.kinds import machines_of, networks_of
from solver.options.machines import cluster_of_pool, pool_of_cluster
from solver.options.supply import supply_of


def barred(one: int, two: int) -> ClusterLink:
    return ClusterLink(f"n{one}", f"n{two}", latency_ns=0, bytes_per_second=None, forbidden=True)


def test_a_pool_is_a_cluster_whose_reserves_are_what_the_policy_leaves() -> None:
    machines = cluster_of_pool(GOLDEN_NODES, DEFAULT_POLICY)
    first = machines.nodes[0]

    assert GOLDEN_NODES == pool_of_cluster(machines)
    assert 435_200_000_000 == first.budget_bytes
    assert 8 * GB == first.gpus[0].reserve.bytes_of(80 * GB)
    assert () == machines.nodes[3].gpus


def test_groups_of_cards_are_nodes_of_which_the_first_has_the_host() -> None:
    rows = pool_of_cluster(cluster(node("a", (("x-24g", 24, 2, 1), ("y-8g", 8, 1, None)), host_gb=64, free_gb=32)))

    assert [("x-24g", 2, 1, 64 * GB, 32 * GB), ("y-8g", 1, None, 0, 0)] == [
        (row.gpu_class, row.gpus, row.free_gpus, row.host_memory_bytes, row.host_free_bytes) for row in rows
    ]


def test_a_unified_memory_is_a_card_up_to_its_ceiling() -> None:
    plain = node("a", host_gb=128, unified=True)
    named = replace(plain, gpus=(GpuGroup("strix", 0, 1, 1, None, None, plain.reserve),), ceiling_bytes=96 * GB)

    assert [("unified-128g", 128 * GB, 1, None)] == [
        (row.gpu_class, row.gpu_memory_bytes, row.gpus, row.free_gpus) for row in pool_of_cluster(cluster(plain))
    ]
    assert [("strix", 96 * GB, 1, 1)] == [
        (row.gpu_class, row.gpu_memory_bytes, row.gpus, row.free_gpus) for row in pool_of_cluster(cluster(named))
    ]


def test_equal_memories_of_different_machines_are_of_one_kind_and_reserves_tell_kinds_apart() -> None:
    one, two = node("a", (("x-24g", 24, 2, 1),)), node("b", (("x-24g", 24, 3, 3),))
    other = replace(one, name="c", gpus=(replace(one.gpus[0], reserve=Reserve(Fraction(1, 5), 0)),))
    supply = supply_of(machines_of(cluster(one, two, other)))

    assert [(2,), (2, 3)] == sorted(kind.counts for kind in supply.kinds)
    shared = next(kind for kind in supply.kinds if len(kind.counts) > 1)
    assert (3, 5) == (shared.widest, shared.total)
    assert ["b"] == [machine.name for machine in shared.having(3)]
    assert (True, True, False) == (shared.free_now(1, 2), shared.free_now(3, 1), shared.free_now(2, 2))


def test_a_memory_of_which_the_reserve_leaves_nothing_is_none() -> None:
    lost = replace(node("a", (("x-24g", 24, 2, 1),)), reserve=Reserve(Fraction(0), 64 * GB))
    lost = replace(lost, gpus=(replace(lost.gpus[0], reserve=Reserve(Fraction(0), 24 * GB)),))
    (machine,) = machines_of(cluster(lost))

    assert ((), None) == (machine.seats, machine.host)


@given(
    st.integers(1, 7).flatmap(
        lambda count: st.tuples(
            st.just(count),
            st.sets(
                st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda pair: pair[0] < pair[1])
            ),
        )
    )
)
def test_networks_are_the_largest_sets_of_nodes_without_a_barred_link(drawn: tuple[int, set[tuple[int, int]]]) -> None:
    """As trying every set finds them."""
    count, pairs = drawn
    machines = cluster(*(node(f"n{number}") for number in range(count)), links=tuple(barred(*pair) for pair in pairs))
    open_sets = [
        set(chosen)
        for size in range(1, count + 1)
        for chosen in combinations(range(count), size)
        if not any(pair in pairs for pair in combinations(chosen, 2))
    ]
    largest = [one for one in open_sets if not any(one < other for other in open_sets)]

    found = [{machine.position for machine in network} for network in networks_of(machines, machines_of(machines))]
    assert sorted(map(sorted, largest)) == sorted(map(sorted, found))


def test_too_many_networks_are_refused() -> None:
    """Ten pairs that are barred from each other leave 2^10 sets."""
    links = tuple(barred(2 * number, 2 * number + 1) for number in range(10))
    machines: Cluster = cluster(*(node(f"n{number}") for number in range(20)), links=links)
    with pytest.raises(InputError) as error:
        networks_of(machines, machines_of(machines))

    assert (
        "links: barred ones leave over 256 sets of nodes that reach one another; expected fewer. Bar fewer links."
    ) == str(error.value)

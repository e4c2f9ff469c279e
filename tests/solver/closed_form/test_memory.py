"""What of a node's memory may be placed in."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.closed_form import REFERENCE_RESERVE, NodeMemory, PooledMemory, ReservePolicy
from solver.errors import InputError
from tensors.units import GIB


@pytest.mark.parametrize(
    ("usable", "reserve_bytes", "budget_bytes"),
    [
        (8 * GIB, 8 * GIB, 0),
        (6 * GIB, 8 * GIB, -2 * GIB),
        (40 * GIB, 8 * GIB, 32 * GIB),
        (48 * GIB, 10_307_921_511, 41_231_686_041),
        (64 * GIB, 13_743_895_348, 54_975_581_388),
    ],
)
def test_the_reserve_is_a_fifth_rounded_up_and_8_gib_at_least(
    usable: int, reserve_bytes: int, budget_bytes: int
) -> None:
    node = NodeMemory("desk", usable)

    assert reserve_bytes == node.reserve_bytes
    assert budget_bytes == node.placement_budget_bytes


@given(usable=st.integers(1, 2**60), percent=st.integers(0, 100), floor_bytes=st.integers(0, 2**40))
def test_the_reserve_is_the_least_that_honours_fraction_and_floor(usable: int, percent: int, floor_bytes: int) -> None:
    policy = ReservePolicy(Fraction(percent, 100), floor_bytes)
    reserve = policy.bytes_of(usable)

    assert reserve >= floor_bytes
    assert reserve * 100 >= usable * percent
    assert reserve == floor_bytes or (reserve - 1) * 100 < usable * percent


def test_a_ceiling_limits_the_budget() -> None:
    assert 100 * GIB == NodeMemory("strix", 128 * GIB, True, ceiling_bytes=100 * GIB).placement_budget_bytes
    assert 128 * GIB - 27_487_790_695 == (
        NodeMemory("strix", 128 * GIB, True, ceiling_bytes=108 * GIB).placement_budget_bytes
    )


def test_the_combined_view_reserves_once_on_the_sum() -> None:
    desk = NodeMemory.from_host("desk", 64 * GIB, 24 * GIB, unified=False)

    assert 88 * GIB == desk.physical_usable_bytes
    assert 18_897_856_103 == desk.reserve_bytes


def test_the_separate_view_reserves_in_each_pool() -> None:
    gpu = ReservePolicy(Fraction(1, 10), 0)
    desk = PooledMemory.from_host("desk", 64 * GIB, (24 * GIB, 24 * GIB), gpu_reserve=gpu)

    assert ("desk/ram", "desk/gpu0", "desk/gpu1") == tuple(pool.name for pool in desk.pools)
    assert 112 * GIB == desk.physical_usable_bytes
    assert 13_743_895_348 + 2 * 2_576_980_378 == desk.reserve_bytes
    assert 112 * GIB - desk.reserve_bytes == desk.placement_budget_bytes


def test_a_pool_that_its_reserve_takes_whole_adds_nothing_to_its_node() -> None:
    desk = PooledMemory.from_host("desk", 6 * GIB, (24 * GIB,))

    assert 16 * GIB == desk.placement_budget_bytes


def test_unified_memory_is_counted_once() -> None:
    strix = NodeMemory.from_host("strix", 128 * GIB, 0, unified=True)

    assert 128 * GIB == strix.physical_usable_bytes
    assert strix.unified


def test_gpu_memory_beside_unified_memory_is_refused_as_a_double_count() -> None:
    with pytest.raises(InputError) as caught:
        NodeMemory.from_host("strix", 128 * GIB, 96 * GIB, unified=True)

    assert (
        "strix: 96.000 GiB of GPU memory beside unified memory; expected none, for a unified GPU draws on the system "
        "memory and would be counted twice. Leave the GPU memory out."
    ) == str(caught.value)


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("node name: it is blank; expected a name. Give every node one.", ("  ", 32 * GIB)),
        ("node name: it is blank; expected a name. Give every node one.", (None, 32 * GIB)),
        (
            "desk, physically usable memory in bytes: 0 is too small; expected an integer of 1 or more.",
            ("desk", 0),
        ),
        (
            "desk, physically usable memory in bytes: True is not an integer; expected an integer of 1 or more.",
            ("desk", True),
        ),
        (
            "desk, physically usable memory in bytes: nan is not an integer; expected an integer of 1 or more.",
            ("desk", float("nan")),
        ),
        (
            r"d\x07sk, physically usable memory in bytes: inf is not an integer; expected an integer of 1 or more.",
            ("d\ask", float("inf")),
        ),
        ("desk, unified: 1 is not a truth value; expected true or false.", ("desk", 32 * GIB, 1)),
        (
            "desk, ceiling in bytes: 0 is too small; expected an integer of 1 or more.",
            ("desk", 32 * GIB, True, REFERENCE_RESERVE, 0),
        ),
    ],
)
def test_a_node_that_cannot_be_is_refused_by_name_and_field(message: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(InputError) as caught:
        NodeMemory(*arguments)

    assert message == str(caught.value)


@pytest.mark.parametrize(
    ("message", "system_bytes", "gpu_bytes"),
    [
        ("desk, system memory in bytes: 0 is too small; expected an integer of 1 or more.", 0, GIB),
        ("desk, GPU memory in bytes: -1 is too small; expected an integer of 0 or more.", GIB, -1),
        ("desk, GPU memory in bytes: 1.5 is not an integer; expected an integer of 0 or more.", GIB, 1.5),
    ],
)
def test_a_report_of_a_host_that_cannot_be_is_refused(message: str, system_bytes: Any, gpu_bytes: Any) -> None:
    with pytest.raises(InputError) as caught:
        NodeMemory.from_host("desk", system_bytes, gpu_bytes, unified=False)

    assert message == str(caught.value)


@pytest.mark.parametrize("fraction", [Fraction(-1, 5), Fraction(6, 5), 0.2])
def test_a_reserve_is_an_exact_fraction_of_a_whole(fraction: Any) -> None:
    with pytest.raises(InputError) as caught:
        ReservePolicy(fraction, 0)

    assert "reserve fraction: it is no exact fraction within 0 … 1; expected one such as 1/5." == str(caught.value)


def test_a_node_without_a_pool_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        PooledMemory("desk", ())

    assert "desk: it has no memory; expected one pool or more." == str(caught.value)

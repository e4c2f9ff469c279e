"""Which device takes which slot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.engines.llamacpp.facts import HOST, Device
from solver.engines.llamacpp.float32 import rounded
from solver.engines.llamacpp.profile import backend_of, profile_of
from solver.engines.llamacpp.slots import share_values, slot_devices
from solver.errors import InputError

NEWEST, BEFORE = profile_of("b11434"), profile_of("b7400")


def devices(*free_bytes: int | None) -> tuple[Device, ...]:
    """Return CUDA devices with this free memory."""
    return tuple(
        Device(f"CUDA{number}", f"CUDA{number}", backend_of("CUDA0"), free) for number, free in enumerate(free_bytes)
    )


def reference(slots: int, start: int, taken: int, shares: list[float]) -> tuple[int, ...]:
    """Return the same by numpy: the first device whose cumulative share is above the slot's."""
    ends, total = [], np.float32(0)
    for share in shares:
        total = np.float32(total + np.float32(share))
        ends.append(total)
    ends = [np.float32(end / total) for end in ends]
    found = []
    for slot in range(slots):
        if not start <= slot < start + taken:
            found.append(HOST)
            continue
        share = np.float32(np.float32(slot - start) / np.float32(taken))
        found.append(next(number for number, end in enumerate(ends) if end > share))
    return tuple(found)


@given(
    st.integers(1, 130),
    st.integers(0, 140),
    st.lists(st.floats(0, 1e6, width=32), min_size=1, max_size=8).filter(any),
)
def test_slots_go_by_cumulative_shares(blocks: int, layers: int, shares: list[float]) -> None:
    taken = min(layers, blocks + 1)
    expected = reference(blocks + 1, blocks + 1 - taken, taken, shares) if taken else (HOST,) * (blocks + 1)

    assert expected == slot_devices(NEWEST, blocks, layers, shares, len(shares))


@given(st.integers(1, 130), st.integers(0, 140), st.integers(1, 4))
def test_builds_before_december_2025_move_the_head_last(blocks: int, layers: int, count: int) -> None:
    shares = [1.0] * count
    slots = slot_devices(BEFORE, blocks, layers, shares, count)

    assert (layers > blocks) == (slots[-1] != HOST)
    assert min(layers, blocks) == sum(slot != HOST for slot in slots[:-1])


@given(st.lists(st.integers(1, 60), min_size=2, max_size=8))
def test_counts_as_shares_give_every_device_its_count(counts: list[int]) -> None:
    """What is exported: integers that add up to the number of layers."""
    layers = sum(counts)
    slots = slot_devices(NEWEST, layers - 1, layers, [float(count) for count in counts], len(counts))

    assert tuple(device for device, count in enumerate(counts) for _ in range(count)) == slots


def test_one_layer_is_the_head() -> None:
    assert (HOST, HOST, HOST, HOST, 0) == slot_devices(NEWEST, 4, 1, [1.0], 1)
    assert (HOST, HOST, HOST, 0, HOST) == slot_devices(BEFORE, 4, 1, [1.0], 1)


def test_without_devices_or_layers_everything_is_on_the_host() -> None:
    assert (HOST,) * 3 == slot_devices(NEWEST, 2, 99, [], 0) == slot_devices(NEWEST, 2, 0, [1.0], 1)


def test_a_negative_number_of_layers_is_all_of_them() -> None:
    assert (0, 0, 1) == slot_devices(NEWEST, 2, -1, [2.0, 1.0], 2)


def test_missing_shares_are_zero_and_further_ones_are_left_out() -> None:
    assert [3.0, 0.0] == share_values((3.0,), devices(None, None))
    assert [3.0, 1.0] == share_values((3.0, 1.0, 7.0), devices(None, None))


def test_free_memory_decides_where_no_share_is_above_zero() -> None:
    assert [rounded(24e9 + 1), 8e9] == share_values((0.0, 0.0), devices(24 * 10**9 + 1, 8 * 10**9))


def test_one_device_needs_neither() -> None:
    assert [1.0] == share_values((), devices(None))


@pytest.mark.parametrize(
    ("free", "message"),
    [
        (
            (5, None),
            (
                "device CUDA1: its free memory is not given; expected it for every device, since the engine "
                "splits by it "
                "where there are no shares. Give the free memory of each, or shares."
            ),
        ),
        ((0, 0), "devices: none has free memory; expected some to split by. Give shares."),
    ],
)
def test_nothing_to_split_by_is_refused(free: tuple[int | None, ...], message: str) -> None:
    with pytest.raises(InputError) as refusal:
        share_values((), devices(*free))

    assert message == str(refusal.value)

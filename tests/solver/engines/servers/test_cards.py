"""Cards of a cluster as devices of ranks, and the one share that all of them grant."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.served import cards

from solver.cluster_file import parse_cluster
from solver.engines.servers.cards import RankDevice, Share, least_share, rank_devices
from solver.errors import InputError
from tensors.units import GIB

NOBODY: frozenset[str] = frozenset()


def device(card_bytes: int, allowed_bytes: int, name: str = "a") -> RankDevice:
    return RankDevice(name, name, (f"{name}/gpu0",), card_bytes, allowed_bytes, None)


def test_every_card_is_a_device_of_its_own_at_width_one() -> None:
    """A machine of one card keeps its own name, as its device is the only one."""
    devices, notes = rank_devices(cards(("desk", 2, "24 GiB"), ("tower", 1, "16 GiB")), 1, NOBODY)

    assert [
        ("desk/gpu0", "desk", ("desk/gpu0",)),
        ("desk/gpu1", "desk", ("desk/gpu1",)),
        ("tower", "tower", ("tower/gpu0",)),
    ] == [(device.name, device.machine, device.cards) for device in devices]
    assert [] == notes
    assert (24 * GIB, 24 * GIB - -(-24 * GIB // 10)) == (devices[0].card_bytes, devices[0].allowed_bytes)


def test_wider_ranks_take_equal_cards_of_one_machine_and_leave_the_rest() -> None:
    devices, notes = rank_devices(cards(("desk", 5, "24 GiB"), ("tower", 1, "24 GiB")), 2, NOBODY)

    assert [("desk/gpu0", "desk/gpu1"), ("desk/gpu2", "desk/gpu3")] == [device.cards for device in devices]
    assert [
        "desk: 1 of 5 cards are left over from ranks of 2.",
        "tower: 1 of 1 cards are left over from ranks of 2.",
    ] == notes


def test_unequal_cards_of_a_machine_are_numbered_on_and_never_in_one_rank() -> None:
    text = (
        '[[node]]\nname = "desk"\nmemory = "64 GiB"\n'
        'gpu = [{ class = "a", memory = "24 GiB" },\n'
        '       { class = "b", memory = "48 GiB", count = 2, bandwidth = "9 GB/s" }]\n'
    )
    devices, _ = rank_devices(parse_cluster(text, "cards.toml"), 1, NOBODY)
    pairs, _ = rank_devices(parse_cluster(text, "cards.toml"), 2, NOBODY)

    assert [24 * GIB, 48 * GIB, 48 * GIB] == [device.card_bytes for device in devices]
    assert [None, 9 * 10**9, 9 * 10**9] == [device.bytes_per_second for device in devices]
    assert [("desk", ("desk/gpu1", "desk/gpu2"), 2)] == [(pair.name, pair.cards, pair.width) for pair in pairs]


def test_a_unified_machine_is_one_card_under_its_ceiling_and_a_host_is_none() -> None:
    text = (
        '[[node]]\nname = "studio"\nmemory = "64 GiB"\nunified = true\nceiling = "40 GiB"\n'
        '[[node]]\nname = "host"\nmemory = "512 GiB"\n'
    )
    devices, notes = rank_devices(parse_cluster(text, "cards.toml"), 1, NOBODY)

    assert (RankDevice("studio", "studio", ("studio/unified",), 64 * GIB, 40 * GIB, None),) == devices
    assert ["host: it lists no card; the engine places nothing in the memory of a host."] == notes


def test_excluded_machines_and_devices_are_no_devices() -> None:
    cluster = cards(("desk", 2, "24 GiB"), ("tower", 2, "16 GiB"))
    devices, _ = rank_devices(cluster, 1, frozenset({"desk/gpu0", "tower"}))

    assert ["desk/gpu1"] == [device.name for device in devices]


def test_a_card_whose_reserve_takes_all_is_noted_and_left_out() -> None:
    devices, notes = rank_devices(
        parse_cluster(
            '[reserve.gpu]\nfloor = "8 GiB"\n[[node]]\nname = "a"\nmemory = "64 GiB"\n'
            'gpu = [{ class = "s", memory = "8 GiB" }, { class = "l", memory = "24 GiB" }]\n',
            "cards.toml",
        ),
        1,
        NOBODY,
    )

    assert [("a/gpu1",)] == [device.cards for device in devices]
    assert ["a: the reserve leaves nothing of a/gpu0; it takes no blocks."] == notes


def test_a_cluster_without_enough_equal_cards_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        rank_devices(cards(("desk", 3, "24 GiB")), 4, NOBODY)

    assert (
        "cluster: no node has 4 equal cards that anything may be placed on; expected nodes with gpu = [...] or "
        "unified = true. List their cards, or lower the width."
    ) == str(caught.value)


def test_cards_beyond_all_measure_are_refused_before_they_are_listed() -> None:
    with pytest.raises(InputError) as caught:
        rank_devices(cards(("a", 400, "24 GiB"), ("b", 400, "24 GiB")), 1, NOBODY)

    assert "cluster: it lists 800 cards; expected at most 480. Lower the counts." == str(caught.value)


def test_the_share_is_the_least_of_all_cards_and_names_the_one_that_binds() -> None:
    devices = (device(24 * GIB, 20 * GIB, "a"), device(8 * GIB, 6 * GIB, "b"), device(48 * GIB, 40 * GIB, "c"))

    assert Share(Fraction(3, 4), "b/gpu0", "its reserve") == least_share(devices, 10_000)


def test_a_reserve_of_a_tenth_leaves_nine_tenths_though_bytes_do_not_divide() -> None:
    """The engine rounds its share up to a byte, and that byte does not cost a step."""
    total = 24 * GIB + 3

    assert Fraction(9, 10) == least_share((device(total, total - -(-total // 10)),), 10_000).value


def test_what_an_engine_keeps_free_itself_can_bind() -> None:
    devices = (device(100 * GIB, 90 * GIB, "a"), device(50 * GIB, 45 * GIB, "b"))

    assert Share(Fraction(3, 5), "b/gpu0", "what the engine keeps free") == least_share(
        devices, 1000, lambda _card_bytes: 20 * GIB
    )


@given(
    cards=st.lists(st.tuples(st.integers(1, 10**12), st.fractions(0, 1)), min_size=1, max_size=5),
    steps=st.sampled_from((100, 1000, 10_000)),
)
def test_no_larger_share_is_granted_by_all_and_this_one_is(cards: list[tuple[int, Fraction]], steps: int) -> None:
    """But for the byte that the engine rounds up by."""
    devices = tuple(device(size, int(size * part)) for size, part in cards)
    share = least_share(devices, steps)
    more = share.value + Fraction(1, steps)

    assert 0 <= share.value <= 1
    assert all(int(share.value * device.card_bytes) <= device.allowed_bytes for device in devices)
    assert more > 1 or any(int(more * device.card_bytes) > device.allowed_bytes for device in devices)
    assert all(0 <= share.bytes_of(d.card_bytes) - share.value * d.card_bytes < 1 for d in devices)

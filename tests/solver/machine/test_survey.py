"""Recorded machines of every kind, as nodes of a cluster file."""

from __future__ import annotations

import re

import pytest
from support.machines import (
    ACCELERATORS,
    AMD,
    DISPLAYS,
    GB10,
    GB10_BY_LIBRARY,
    GRACE_HOPPER,
    INTEL,
    JETSON,
    KINDS,
    MAC,
    NVIDIA,
    OLD_DRIVER,
    OLD_MAC,
    RADEONS,
    SERVER,
    STRIX_HALO,
    STRIX_HALO_CARVED,
    WORKSTATION,
    WSL,
    RecordedMachine,
    drm,
    meminfo,
)
from support.surveys import GIB, KIB, MIB, cards_of, node_of, seen

from solver.cluster_file import parse_cluster
from solver.machine.machine import LibraryCard
from solver.machine.text import cluster_text


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_of_every_kind_of_machine_is_a_cluster_file_with_the_same_bytes(kind: str) -> None:
    found = seen(KINDS[kind])
    node = node_of(KINDS[kind])

    assert (found.name, found.host.usable_bytes) == (node.name, node.memory_bytes)
    assert (found.host.free_bytes, found.ceiling_bytes) == (node.free_bytes, node.ceiling_bytes)
    assert found.unified == node.unified
    assert [
        (group.label, group.usable_bytes, len(group.cards), group.free_count, group.device) for group in found.groups
    ] == cards_of(KINDS[kind])
    assert [group.bytes_per_second for group in found.groups] == (
        [node.bytes_per_second] if node.unified else [group.bytes_per_second for group in node.gpus]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_every_budget_is_explained_to_the_byte(kind: str) -> None:
    """Usable, reserve and budget of each pool stand in the comments as the cluster has them."""
    node = node_of(KINDS[kind])
    said = re.sub(r"\n *# ", " ", cluster_text(seen(KINDS[kind])))
    budgets = [node.budget_bytes]
    if not node.unified:
        budgets += [group.memory_bytes - group.reserve.bytes_of(group.memory_bytes) for group in node.gpus]

    assert all(budget > 0 for budget in budgets)
    assert [] == [budget for budget in budgets if f"({budget:,} bytes)" not in said]


def test_texts_of_all_machines_in_a_row_are_one_cluster_file() -> None:
    text = "\n".join(cluster_text(seen(machine)) for machine in KINDS.values())
    cluster = parse_cluster(text, "all.toml")

    assert [seen(machine).name for machine in KINDS.values()] == [node.name for node in cluster.nodes]


def test_a_server_has_its_memory_and_nothing_else() -> None:
    node = node_of(SERVER)

    assert ("server", 131_000_000 * KIB, 120_000_000 * KIB) == (node.name, node.memory_bytes, node.free_bytes)
    assert () == node.gpus
    assert not node.unified


def test_equal_cards_are_grouped_in_the_order_of_the_bus_without_what_the_driver_keeps() -> None:
    """A card is free where all of its budget is unused; integrated graphics beside cards are no memory of their own."""
    found = seen(WORKSTATION)

    assert [
        ("rtx-4090-24g", (24564 - 347) * MIB, 2, 1, "CUDA0"),
        ("rtx-3090-24g", (24576 - 312) * MIB, 1, 1, "CUDA2"),
    ] == cards_of(WORKSTATION)
    assert [1008 * 10**9, 936 * 10**9] == [group.bytes_per_second for group in found.groups]
    assert ["0000:01:00.0", "0000:41:00.0"] == [card.pci for card in found.groups[0].cards]
    (remark,) = found.remarks

    assert (
        "AMD 1002:164e at 0000:7a:00.0 is not listed: it works in the host's memory, which is counted once, as the "
        "host's."
    ) == remark


def test_equal_cards_apart_on_the_bus_are_groups_apart() -> None:
    """Devices of a group are numbered on from its first."""
    rows = ("A, 00000000:01:00.0, 1024", "B, 00000000:02:00.0, 2048", "A, 00000000:03:00.0, 1024")
    mixed = "".join(f"{row}, 0, 0, N/A\n" for row in rows)

    assert [("a-1g", "CUDA0"), ("b-2g", "CUDA1"), ("a-1g", "CUDA2")] == [
        (label, device) for label, _, _, _, device in cards_of(SERVER.but(outputs={NVIDIA: mixed}))
    ]


def test_an_old_driver_is_asked_again_without_what_it_does_not_know() -> None:
    """And an old kernel's huge pages are counted in pages."""
    node = node_of(OLD_DRIVER)

    assert [("p40-24g", 22919 * MIB, 2, 2, "CUDA0")] == cards_of(OLD_DRIVER)
    assert (32_000_000 * KIB - 2 * GIB, None) == (node.memory_bytes, node.free_bytes)


def test_the_library_of_the_driver_is_asked_before_its_command() -> None:
    library = (LibraryCard("NVIDIA L4", "00000000:05:00.0", 24 * GIB, GIB, 0, divided=False),)

    assert [("l4-24g", 23 * GIB, 1, 1, "CUDA0")] == cards_of(WORKSTATION.but(library=library))
    assert [] == cards_of(WORKSTATION.but(library=()))


@pytest.mark.parametrize("machine", [GB10, GB10_BY_LIBRARY], ids=["reports none", "reports the host's"])
def test_a_unified_memory_is_counted_once_whatever_the_driver_reports(machine: RecordedMachine) -> None:
    node = node_of(machine)

    assert (127_600_748 * KIB, True, 273 * 10**9) == (node.memory_bytes, node.unified, node.bytes_per_second)
    assert [("gb10", 0, 1, None, "CUDA0")] == cards_of(machine)


def test_memory_of_cards_that_the_system_counts_as_its_own_is_counted_with_the_cards() -> None:
    node = node_of(GRACE_HOPPER)

    assert (500_000_000 * KIB, None) == (node.memory_bytes, node.free_bytes)
    assert [("gh200-96g", (97871 - 500) * MIB, 1, 1, "CUDA0")] == cards_of(GRACE_HOPPER)


def test_integrated_graphics_may_take_what_they_can_map_and_their_carve_out_is_not_counted_twice() -> None:
    """The lower of two limits of the kernel is the ceiling."""
    node = node_of(STRIX_HALO)

    assert (131_000_000 * KIB, True) == (node.memory_bytes, node.unified)
    assert (31457280 * 4096, 256 * 10**9) == (node.ceiling_bytes, node.bytes_per_second)
    assert [("strix-halo", 0, 1, None, "ROCm0")] == cards_of(STRIX_HALO)


def test_a_limit_above_the_memory_is_no_ceiling() -> None:
    machine = STRIX_HALO.but(files={"/proc/meminfo": meminfo(64_000_000, 1)})

    assert node_of(machine).ceiling_bytes is None
    assert "# That is no less than the memory itself, so that there is no ceiling.\n" in cluster_text(seen(machine))


def test_a_large_carve_out_is_a_memory_of_its_own_beside_the_host() -> None:
    """The host does not see it, so that both are counted, each once."""
    node = node_of(STRIX_HALO_CARVED)

    assert (32_000_000 * KIB, False) == (node.memory_bytes, node.unified)
    assert [("strix-halo-96g", 96 * GIB, 1, 1, "ROCm0")] == cards_of(STRIX_HALO_CARVED)
    assert 256 * 10**9 == node.gpus[0].bytes_per_second


def test_other_integrated_graphics_are_left_to_the_person() -> None:
    files = {path: text for path, text in WORKSTATION.files.items() if "/drm/" in path}

    (remark,) = seen(SERVER.but(files=files)).remarks

    assert (
        "AMD 1002:164e at 0000:7a:00.0 is not listed: it works in the host's memory, which is counted once, as the "
        "host's. To place blocks on it, write unified = true and a ceiling of 30.73 GiB (33,000,000,000 bytes)."
    ) == remark


def test_a_card_of_amd_has_its_bytes_from_the_kernel_and_its_name_from_a_tool() -> None:
    assert [("rx-7900-xtx-24g", 24560 * MIB, 1, 1, "ROCm0")] == cards_of(RADEONS)
    assert 960 * 10**9 == node_of(RADEONS).gpus[0].bytes_per_second


def test_the_oldest_cards_that_lack_a_counter_of_traffic_are_cards() -> None:
    vega = drm(0, "1002", "687f", "0000:09:00.0", {"mem_info_vram_total": f"{8 * GIB}", "mem_info_gtt_total": "99"})

    assert [("amd-1002-687f-8g", 8 * GIB, 1, None, "ROCm0")] == cards_of(SERVER.but(files=vega))


def test_tools_of_rocm_are_enough_where_the_kernel_shows_nothing() -> None:
    """As in a container. What one tool leaves open, the other says."""
    assert [("mi300x-192g", 206_141_652_992, 2, 2, "ROCm0")] == cards_of(ACCELERATORS)
    only_new = RecordedMachine(files=ACCELERATORS.files, outputs={AMD: RADEONS.outputs[AMD]})
    assert [("rx-7900-xtx-24g", 24560 * MIB, 1, None, "ROCm0")] == cards_of(only_new)


@pytest.mark.parametrize(
    ("size", "wired", "ceiling"),
    [
        (16 * GIB, "0", 16 * GIB * 2 // 3),
        (96 * GIB, "0", 72 * GIB),
        (96 * GIB, "90000", 90000 * MIB),
        (96 * GIB, "98304", None),
        (96 * GIB, "", 72 * GIB),
    ],
)
def test_a_mac_gives_graphics_what_its_wired_limit_allows(size: int, wired: str, ceiling: int | None) -> None:
    """The default where none is set; none where it is the whole memory."""
    limits = {("sysctl", "-n", "hw.memsize"): f"{size}\n", ("sysctl", "-n", "iogpu.wired_limit_mb"): f"{wired}\n"}
    node = node_of(MAC.but(outputs=limits))

    assert (size, True, ceiling, 400 * 10**9) == (
        node.memory_bytes,
        node.unified,
        node.ceiling_bytes,
        node.bytes_per_second,
    )


@pytest.mark.parametrize(("cores", "rate"), [("30", 300 * 10**9), ("40", 400 * 10**9), ("?", None)])
def test_chips_of_one_name_are_told_apart_by_their_cores(cores: str, rate: int | None) -> None:
    outputs = {
        ("sysctl", "-n", "machdep.cpu.brand_string"): "Apple M3 Max\n",
        DISPLAYS: f'{{"SPDisplaysDataType": [{{"sppci_cores": "{cores}"}}]}}',
    }

    assert rate == node_of(MAC.but(outputs=outputs)).bytes_per_second


def test_what_is_unused_of_a_mac_is_counted_in_pages() -> None:
    assert 1_000_000 * 16384 == node_of(MAC).free_bytes


def test_an_old_mac_has_cards_with_memory_of_their_own() -> None:
    assert [("amd-radeon-pro-5700-xt-16g", 16 * GIB, 1, None, "MTL0")] == cards_of(OLD_MAC)


def test_the_memory_of_a_virtual_machine_of_windows_is_what_linux_sees_in_it() -> None:
    """A laptop's card is not the desktop card whose name it begins with."""
    assert [("nvidia-geforce-rtx-4090-laptop-gpu-16g", (16376 - 319) * MIB, 1, 1, "CUDA0")] == cards_of(WSL)
    assert node_of(WSL).gpus[0].bytes_per_second is None
    assert (
        "That is the memory of the WSL virtual machine: /mnt/c/Users/ada/.wslconfig gives it 16.00 GiB (17,179,869,184 "
        "bytes); [wsl2] memory= in .wslconfig changes it."
    ) == seen(WSL).host.remarks[1]
    bare = RecordedMachine(files={path: text for path, text in WSL.files.items() if "/mnt/" not in path})
    assert "half of Windows' own by default" in seen(bare).host.remarks[1]


def test_cards_of_intel_have_their_bytes_from_the_driver_or_the_datasheet() -> None:
    assert [("arc-b580-12g", 12_809_404_416, 1, None, "SYCL0"), ("arc-a750-8g", 8 * GIB, 1, None, "SYCL1")] == cards_of(
        INTEL
    )
    (remark,) = seen(INTEL).remarks

    assert (
        "Intel 8086:a780 at 0000:00:02.0 is not listed: nothing tells a memory of its own. Integrated graphics work in "
        "the host's memory, which is counted already; a card is listed by hand."
    ) == remark


def test_a_board_is_known_by_its_device_tree() -> None:
    assert (True, 204_800_000_000) == (node_of(JETSON).unified, node_of(JETSON).bytes_per_second)
    assert 'bandwidth = "204.8 GB/s"' in cluster_text(seen(JETSON))

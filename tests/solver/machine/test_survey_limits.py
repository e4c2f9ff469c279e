"""What divides or limits a memory and names a node, and systems that answer nonsense."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.machines import (
    ACCELERATORS,
    AMD,
    DIVIDED,
    KINDS,
    NO_DRIVER,
    ROCM,
    SERVER,
    WINDOWS,
    RecordedMachine,
    meminfo,
)
from support.surveys import GIB, KIB, MIB, cards_of, node_of, seen

from solver.cluster_file import parse_cluster
from solver.errors import InputError
from solver.machine.text import cluster_text


def test_a_divided_card_is_left_to_the_person() -> None:
    (remark,) = seen(DIVIDED).remarks

    assert (
        "NVIDIA A100-SXM4-80GB at 0000:07:00.0 of 80.00 GiB (85,899,345,920 bytes) is not listed: MIG divides it, and "
        "a program sees one instance. Write each instance that is used as a card."
    ) == remark
    assert [] == cards_of(DIVIDED)


def test_a_card_without_a_driver_is_named() -> None:
    (remark,) = seen(NO_DRIVER).remarks

    assert (
        "A card of NVIDIA at 0000:01:00.0 is not listed: neither NVML nor nvidia-smi answers, and nothing else tells "
        "its memory. Install the driver, or write the card by hand."
    ) == remark


def test_windows_is_asked_for_its_memory() -> None:
    assert 68_608_618_496 == node_of(WINDOWS).memory_bytes
    assert [("rtx-5090-32g", (32607 - 500) * MIB, 1, 1, "CUDA0")] == cards_of(WINDOWS)


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/a/b\n", {"/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": f"{32 * GIB}\n"}, 32),
        ("0::/a\n", {"/sys/fs/cgroup/a/memory.max": f"{9 * GIB}\n", "/sys/fs/cgroup/memory.max": f"{8 * GIB}\n"}, 8),
        ("0::/\n", {"/sys/fs/cgroup/memory.max": f"{16 * GIB}\n"}, 16),
        (
            "5:cpu,memory:/docker/x\n",
            {"/sys/fs/cgroup/memory/memory.limit_in_bytes": f"{4 * GIB}\n"},
            4,
        ),
        (
            "5:memory:/x\n0::/\n",
            {
                "/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "9223372036854771712\n",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes": f"{10 * GIB}\n",
            },
            10,
        ),
    ],
)
def test_the_least_limit_of_the_control_groups_above_counts(groups: str, files: dict[str, str], limit: int) -> None:
    """Of both versions; in a container the files of its own group stand at the root."""
    node = node_of(SERVER.but(files={"/proc/self/cgroup": groups} | files))

    assert (limit * GIB, limit * GIB) == (node.memory_bytes, node.free_bytes)


@pytest.mark.parametrize("text", ["max\n", "9223372036854771712\n", "0\n", "-1\n", "", "99999999999999999999999\n"])
def test_a_control_group_without_a_limit_changes_nothing(text: str) -> None:
    machine = SERVER.but(files={"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": text})

    assert seen(SERVER) == seen(machine)


def test_huge_pages_are_no_memory_for_anything_else() -> None:
    machine = SERVER.but(files={"/proc/meminfo": meminfo(131_000_000, 60_000_000, huge_pages=10_000)})

    assert 131_000_000 * KIB - 20_000 * MIB == node_of(machine).memory_bytes


@pytest.mark.parametrize(
    ("host_name", "name"),
    [
        ("", "this-machine"),
        ("localhost.localdomain", "this-machine"),
        ("desk.lan", "desk"),
        ("gpu/1,2", "gpu-1-2"),
        ("\x1b[31mred", "31mred"),
        ("x" * 300, "x" * 60),
    ],
)
def test_a_node_is_named_after_its_host_in_harmless_characters(host_name: str, name: str) -> None:
    assert name == node_of(RecordedMachine(host_name=host_name, files=SERVER.files)).name


def test_a_name_that_is_given_counts() -> None:
    assert "box 1" == seen(SERVER, "box 1").name


@pytest.mark.parametrize("system", ["Linux", "Darwin", "Windows", "Plan 9"])
def test_a_host_without_a_memory_that_can_be_read_is_an_error(system: str) -> None:
    with pytest.raises(InputError) as caught:
        seen(RecordedMachine(system=system))

    assert (
        "this machine: its memory cannot be read; expected /proc/meminfo, sysctl hw.memsize or Win32_ComputerSystem. "
        "Write the node by hand."
    ) == str(caught.value)


HOSTILE = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            "999999999999999999",
            "-5",
            "1e400",
            '{"card0": {"PCI Bus": "0000:01:00.0", "VRAM Total Memory (B)": "999999999999999999"}}',
            '{"card0": []}',
            '{"gpu_data": {"asic": 5}}',
            "[" * 5000,
            '"]\n[[node]]\x1b[2J, 00000000:01:00.0, 4096, 0, 0, N/A',
            "x, 00000000:01:00.0, 999999999999999999, 0, 0, N/A\n" * 300,
            'a\\b"c, 00000000:01:00.0, 4096, 4095, 999999, N/A\n' * 300,
        ]
    ),
)
PATHS = sorted({path for machine in KINDS.values() for path in machine.files} - {"/proc/meminfo"})
COMMANDS = sorted({command for machine in KINDS.values() for command in machine.outputs})


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(sorted(KINDS)),
    st.dictionaries(st.sampled_from(PATHS), HOSTILE, max_size=6),
    st.dictionaries(st.sampled_from(COMMANDS), HOSTILE, max_size=4),
)
def test_whatever_files_and_commands_say_the_text_is_a_cluster_file_or_there_is_no_memory(
    kind: str, files: dict[str, str], outputs: dict[tuple[str, ...], str]
) -> None:
    """And nothing that a terminal would obey gets into it."""
    machine = KINDS[kind].but(files=files, outputs=outputs)
    try:
        text = cluster_text(seen(machine))
    except InputError:
        assert KINDS[kind].system != "Linux"
        return
    parse_cluster(text, "hostile.toml")

    assert text.replace("\n", "").isprintable()


def test_warnings_before_a_document_are_passed_over_and_nonsense_is_none() -> None:
    broken = RecordedMachine(files=ACCELERATORS.files, outputs={ROCM: "{" * 10, AMD: "no cards"})

    assert [] == cards_of(broken)

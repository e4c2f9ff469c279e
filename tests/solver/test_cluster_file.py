"""Cluster files: every key is read, and whatever keeps a file from being read is one line."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from support.nodes import HOST, memory_node

from solver.cluster import Cluster, ClusterLink, ClusterNode, GpuGroup, Reserve
from solver.cluster_file import parse_cluster, read_cluster
from solver.errors import InputError
from tensors.units import GIB

GPU = Reserve(fraction=Fraction(1, 10), floor_bytes=0)

TWO_NODES = """
[[node]]
name = "desk"
count = 2
memory = "64 GiB"

[[node]]
name = "strix"
memory = "128 GiB"
"""


def link(source: str, target: str, latency_ns: int = 0, rate: int | None = None) -> ClusterLink:
    """Return a link that is open."""
    return ClusterLink(source=source, target=target, latency_ns=latency_ns, bytes_per_second=rate, forbidden=False)


def test_a_node_needs_no_more_than_a_name_and_a_memory() -> None:
    """Everything else is absent, and the reserves are those of the policy."""
    expected = Cluster(nodes=(memory_node("desk", 64 * GIB),), latency_ns=0, bytes_per_second=None, links=())

    assert expected == parse_cluster('[[node]]\nname = "desk"\nmemory = "64 GiB"', "cluster.toml")


def test_every_key_of_a_node_is_read() -> None:
    """Sizes become bytes, rates bytes a second, and cards a group."""
    text = """
    [[node]]
    name = "desk"
    memory = "64 GiB"
    bandwidth = "80 GB/s"
    fabric = "rack-1"
    address = "desk.lan"
    rpc_port = 50052
    head = true
    model_path = "/models"
    cpu = true
    free = "40 GiB"
    [[node.gpu]]
    class = "rtx-4090-24g"
    memory = "24 GiB"
    count = 2
    free_count = 1
    bandwidth = "1008 GB/s"
    device = "CUDA0"
    """
    expected = ClusterNode(
        name="desk",
        memory_bytes=64 * GIB,
        unified=False,
        ceiling_bytes=None,
        reserve=HOST,
        bytes_per_second=80 * 10**9,
        fabric="rack-1",
        cpu=True,
        free_bytes=40 * GIB,
        gpus=(
            GpuGroup(
                label="rtx-4090-24g",
                memory_bytes=24 * GIB,
                count=2,
                free_count=1,
                bytes_per_second=1008 * 10**9,
                device="CUDA0",
                reserve=GPU,
            ),
        ),
        address="desk.lan",
        rpc_port=50052,
        head=True,
        model_path="/models",
    )

    assert (expected,) == parse_cluster(text, "cluster.toml").nodes


def test_a_unified_node_keeps_its_ceiling_and_its_cards_without_a_memory_of_their_own() -> None:
    """The budget is the ceiling where usable − reserve is above it."""
    text = """
    [[node]]
    name = "strix"
    memory = "128 GiB"
    unified = true
    ceiling = "100 GiB"
    gpu = [{ class = "radeon-8060s", device = "Vulkan0" }]
    """
    (strix,) = parse_cluster(text, "cluster.toml").nodes

    assert strix.unified
    assert 100 * GIB == strix.budget_bytes
    assert [("radeon-8060s", 0, 1)] == [(group.label, group.memory_bytes, group.count) for group in strix.gpus]


def test_a_count_writes_out_numbered_members() -> None:
    """Members follow each other where their node is listed."""
    cluster = parse_cluster(TWO_NODES, "cluster.toml")

    assert ["desk-1", "desk-2", "strix"] == [member.name for member in cluster.nodes]


def test_a_count_of_one_keeps_the_name() -> None:
    """Only more than one node needs numbers."""
    cluster = parse_cluster('[[node]]\nname = "desk"\nmemory = "64 GiB"\ncount = 1', "cluster.toml")

    assert ["desk"] == [member.name for member in cluster.nodes]


def test_reserves_are_exact_and_the_more_particular_one_wins() -> None:
    """A node replaces only the parts that it names; 0.15 is 3/20, not a float near it."""
    text = """
    [reserve]
    fraction = 0.15
    [reserve.gpu]
    floor = "1 GiB"
    [[node]]
    name = "a"
    memory = "64 GiB"
    gpu = [{ class = "x-24g", memory = "24 GiB" }]
    [[node]]
    name = "b"
    memory = "64 GiB"
    reserve = { floor = "2 GB", gpu = { fraction = 0 } }
    gpu = [{ class = "x-24g", memory = "24 GiB" }]
    """
    first, second = parse_cluster(text, "cluster.toml").nodes

    assert Reserve(Fraction(3, 20), 8 * GIB) == first.reserve
    assert Reserve(Fraction(1, 10), GIB) == first.gpus[0].reserve
    assert Reserve(Fraction(3, 20), 2 * 10**9) == second.reserve
    assert Reserve(Fraction(0), GIB) == second.gpus[0].reserve


def test_links_have_a_default_and_pairs_that_differ() -> None:
    """A pair takes from [links] what it does not say, and a rate in bits is an eighth in bytes."""
    text = f"""
    {TWO_NODES}
    [links]
    latency = "0.5 ms"
    rate = "2.5 Gbit/s"
    pair = [{{ from = "strix", to = "desk-2", rate = "10 Gbit/s" }}]
    """
    cluster = parse_cluster(text, "cluster.toml")

    assert (500_000, 312_500_000) == (cluster.latency_ns, cluster.bytes_per_second)
    assert (link("strix", "desk-2", 500_000, 1_250_000_000),) == cluster.links


def test_a_pair_that_names_a_counted_name_means_each_member_and_both_means_both_ways() -> None:
    """Two members and one other node make four directed links."""
    text = f'{TWO_NODES}\n[links]\npair = [{{ from = "desk", to = "strix", latency = "0.2 ms", both = true }}]'
    expected = {
        link("desk-1", "strix", 200_000),
        link("strix", "desk-1", 200_000),
        link("desk-2", "strix", 200_000),
        link("strix", "desk-2", 200_000),
    }

    assert expected == set(parse_cluster(text, "cluster.toml").links)


@pytest.mark.parametrize("both", ["true", "false"])
def test_a_pair_of_a_counted_name_with_itself_links_its_members(both: str) -> None:
    """No member is linked with itself."""
    text = f'{TWO_NODES}\n[links]\npair = [{{ from = "desk", to = "desk", latency = "1 us", both = {both} }}]'

    assert {link("desk-1", "desk-2", 1000), link("desk-2", "desk-1", 1000)} == set(
        parse_cluster(text, "cluster.toml").links
    )


def test_a_forbidden_pair_bars_a_link() -> None:
    """Its latency is the word forbidden; the default's rate does not reach it."""
    text = (
        f'{TWO_NODES}\n[links]\nrate = "1 Gbit/s"\npair = [{{ from = "strix", to = "desk-1", latency = "forbidden" }}]'
    )
    expected = ClusterLink(source="strix", target="desk-1", latency_ns=0, bytes_per_second=None, forbidden=True)

    assert (expected,) == parse_cluster(text, "cluster.toml").links


def test_flags_replace_the_reserve_of_every_host_memory() -> None:
    """A part that is None stays; cards keep theirs."""
    cluster = parse_cluster('[[node]]\nname = "a"\nmemory = "64 GiB"\nreserve = { fraction = 0.5 }', "cluster.toml")

    assert Reserve(Fraction(1, 2), 0) == cluster.with_host_reserve(None, 0).nodes[0].reserve
    assert Reserve(Fraction(0), 8 * GIB) == cluster.with_host_reserve(Fraction(0), None).nodes[0].reserve


def test_a_file_is_named_as_it_was_typed(tmp_path: Path) -> None:
    """So that the person finds it."""
    path = tmp_path / "my cluster.toml"
    path.write_text("", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_cluster(path)

    assert str(caught.value).startswith(f"{path}: it lists no node; ")


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    with pytest.raises(InputError) as caught:
        read_cluster(path)

    assert f"{path}: there is no such file; expected a cluster file in TOML. Check the path." == str(caught.value)


def test_a_folder_is_no_cluster_file(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_cluster(tmp_path)

    assert f"{tmp_path}: it is a folder; expected a cluster file in TOML. Name the file." == str(caught.value)


def test_a_file_below_a_file_is_one_line(tmp_path: Path) -> None:
    """Whatever else the system says is passed on."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    path = tmp_path / "file" / "cluster.toml"
    with pytest.raises(InputError) as caught:
        read_cluster(path)

    assert f"{path}: not a directory; expected a cluster file in TOML. Check the path." == str(caught.value)


def test_bytes_that_are_no_text_are_refused_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes(b'# caf\xe9\n[[node]]\nname = "a"\nmemory = "8 GiB"')
    with pytest.raises(InputError) as caught:
        read_cluster(path)

    assert f"{path}, byte 5: not UTF-8; expected TOML text. Save it as UTF-8." == str(caught.value)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    """Some editors write one before every text."""
    path = tmp_path / "marked.toml"
    path.write_bytes(b'\xef\xbb\xbf[[node]]\nname = "a"\nmemory = "8 GiB"')

    assert ["a"] == [member.name for member in read_cluster(path).nodes]


def test_a_file_without_end_is_not_read_to_its_end() -> None:
    """A device that never ends is refused after a bounded read."""
    with pytest.raises(InputError) as caught:
        read_cluster(Path("/dev/zero"))

    assert "/dev/zero: it is larger than 4 MiB; expected a cluster file in TOML. Check the path." == str(caught.value)

"""The plain arithmetic: the golden list to the digit, every rule by itself, and every edge."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.pools import GOLDEN_ARTIFACTS, GOLDEN_NODES, artifact, cpu_node, gpu_node

from solver.options import DEFAULT_POLICY, Artifact, Option, PoolNode, Shape, memory_from_class, options, quality
from solver.options.simple import card_need, longest_context, simple_options

GB = 10**9
NO_CACHE = Shape(cache_bytes_per_token=0, kv_heads=0, parameters=0)


def labels(found: tuple[Option, ...]) -> list[str]:
    return [option.place.label for option in found]


def simple(artifacts: list[Artifact], nodes: list[PoolNode], context: int = 0) -> tuple[Option, ...]:
    return simple_options(artifacts, nodes, context, DEFAULT_POLICY)


def test_the_golden_list_is_met_to_the_digit() -> None:
    found = options(GOLDEN_ARTIFACTS, GOLDEN_NODES, 8192)

    assert [
        ("Q6_K", "1 × h100-80g", "64.540496", "72.0", 2, True, "6.563851", "6.563851"),
        ("Q4_K_M", "1 × h100-80g", "48.404096", "72.0", 2, True, "4.821292", "4.821292"),
        ("Q8_0", "2 × h100-80g", "41.777794", "72.0", 2, True, "8.501325", "8.501325"),
        ("Q4_K_M", "3 × rtx-4090-24g", "16.850527", "21.6", 1, True, "4.821292", "4.821292"),
        ("Q8_0", "4 × rtx-4090-24g", "21.425768", "21.6", 1, True, "8.501325", "8.501325"),
        ("Q6_K", "4 × rtx-4090-24g", "16.940430", "21.6", 1, True, "6.563851", "6.563851"),
        ("safetensors", "2 nodes × 2 h100-80g on ib0", "39.859160", "72.0", 2, False, "15.999953", "6.750012"),
        ("Q6_K", "CPU", "64.540496", "435.2", 4, True, "6.563851", "5.609037"),
        ("Q8_0", "CPU", "82.481846", "435.2", 4, True, "8.501325", "5.124669"),
        ("Q4_K_M", "CPU", "48.404096", "435.2", 4, True, "4.821292", "4.821292"),
        ("BF16", "CPU", "151.930946", "435.2", 3, True, "16.001087", "3.249728"),
    ] == [
        (
            option.artifact.name,
            option.place.label,
            f"{option.need_bytes / GB:.6f}",
            f"{option.have_bytes / GB:.1f}",
            option.hosts,
            option.free_now,
            f"{float(option.bits_per_weight or 0):.6f}",
            f"{float(quality(option.bits_per_weight, cpu=option.place.cpu)):.6f}",
        )
        for option in found
    ]


@pytest.mark.parametrize(
    ("label", "size"),
    [("h100-80g", 80), ("mi300x-192g", 192), ("h100-80G", 0), ("l4-24gb", 0), ("a100-sxm", 0), ("80g", 0), ("", 0)],
)
def test_a_class_label_says_the_size_of_a_card_at_its_end_alone(label: str, size: int) -> None:
    assert size == memory_from_class(label)


def test_a_need_equal_to_the_share_fits_and_a_byte_more_does_not() -> None:
    """90 % of 24 GB less a base of 2^30 leaves weights w with w + w // 20 = 20,526,258,176."""
    weights = 19_548_817_311
    node = gpu_node("n", "l4-24g", 24, 1)
    assert DEFAULT_POLICY.of_card(24 * GB) == card_need(
        artifact("a", weights, shape=NO_CACHE), 1, 0, DEFAULT_POLICY.llamacpp
    )

    assert ["1 × l4-24g"] == labels(simple([artifact("a", weights, shape=NO_CACHE)], [node]))
    assert [] == labels(simple([artifact("a", weights + 1, shape=NO_CACHE)], [node]))


def test_a_context_of_zero_has_no_cache() -> None:
    one = artifact("a", 10 * GB)

    assert card_need(replace(one, shape=NO_CACHE), 1, 8192, DEFAULT_POLICY.llamacpp) == card_need(
        one, 1, 0, DEFAULT_POLICY.llamacpp
    )


def test_gguf_takes_the_least_width_of_each_class_in_the_order_of_names() -> None:
    nodes = [gpu_node("b", "z-24g", 24, 8), gpu_node("a", "a-48g", 48, 2)]

    assert ["2 × a-48g", "3 × z-24g"] == labels(simple([artifact("a", 50 * GB, shape=NO_CACHE)], nodes))


def test_hosts_have_so_many_cards_and_one_of_them_may_have_them_free() -> None:
    nodes = [
        gpu_node("a", "x-24g", 24, 1, free=1),
        gpu_node("b", "x-24g", 24, 2, free=1),
        gpu_node("c", "x-24g", 24, 4, free=2),
    ]
    (option,) = simple([artifact("a", 30 * GB, shape=NO_CACHE)], nodes)

    assert ("2 × x-24g", 2, True) == (option.place.label, option.hosts, option.free_now)
    (busy,) = simple([artifact("a", 30 * GB, shape=NO_CACHE)], [replace(node, free_gpus=0) for node in nodes])
    assert busy.free_now is False
    (unknown,) = simple([artifact("a", 30 * GB, shape=NO_CACHE)], [replace(node, free_gpus=None) for node in nodes])
    assert unknown.free_now is None


def test_the_card_size_of_a_class_is_that_of_the_first_node_seen() -> None:
    nodes = [gpu_node("a", "x", 40, 1), gpu_node("b", "x", 80, 1)]
    one = artifact("a", 50 * GB, shape=NO_CACHE)

    assert [] == labels(simple([one], nodes))
    (option,) = simple([one], nodes[::-1])
    assert ("1 × x", 72 * GB, 2) == (option.place.label, option.have_bytes, option.hosts)


@pytest.mark.parametrize(
    "node",
    [gpu_node("n", "", 80, 8), gpu_node("n", "x-80g", 80, 0), gpu_node("n", "a100-sxm", 0, 8)],
    ids=["no class", "no cards", "a class without size and no memory"],
)
def test_nodes_without_class_cards_or_card_memory_are_skipped(node: PoolNode) -> None:
    assert () == simple(
        [artifact("a", GB, shape=NO_CACHE), artifact("b", GB, form="safetensors", shape=NO_CACHE)], [node]
    )


def test_an_unknown_format_gives_no_option() -> None:
    assert () == simple([artifact("a", GB, form="onnx")], list(GOLDEN_NODES))


def test_a_host_without_memory_takes_no_replica() -> None:
    assert [] == labels(simple([artifact("a", GB, shape=NO_CACHE)], [cpu_node("n", 0, 0)]))


def test_a_replica_on_a_host_needs_85_percent_and_is_free_by_raw_memory() -> None:
    one = artifact("a", 40 * GB, shape=NO_CACHE)
    need = 40 * GB + 2**30 + 2 * GB
    nodes = [cpu_node("a", 50, 43), cpu_node("b", 64, 43), gpu_node("c", "x-8g", 8, 1, host_gb=128, host_free_gb=44)]
    (option,) = simple([one], nodes)

    assert ("CPU", need, 108_800_000_000, 2, True) == (
        option.place.label, option.need_bytes, option.have_bytes, option.hosts, option.free_now
    )  # fmt: skip
    assert (True, 0, 1, 0) == (option.place.cpu, option.place.cards, option.place.nodes, option.place.gpus_per_node)
    (busy,) = simple([one], nodes[:2])
    assert busy.free_now is False


@pytest.mark.parametrize(("heads", "expected"), [(8, ["8 × x-40g"]), (4, []), (0, ["8 × x-40g"]), (2, [])])
def test_vllm_widths_double_up_to_the_first_that_does_not_divide_the_heads(heads: int, expected: list[str]) -> None:
    """Unknown heads (0) are always divided."""
    one = artifact("a", 200 * GB, form="safetensors", shape=replace(NO_CACHE, kv_heads=heads))

    assert expected == labels(simple([one], [gpu_node("n", "x-40g", 40, 8)]))


def test_vllm_takes_no_width_between_powers_of_two() -> None:
    one = artifact("a", 80 * GB, form="safetensors", shape=replace(NO_CACHE, kv_heads=12))

    assert ["4 × x-40g"] == labels(simple([one], [gpu_node("n", "x-40g", 40, 6)]))


def test_a_width_of_one_is_one_card() -> None:
    one = artifact("a", 10 * GB, form="safetensors", shape=replace(NO_CACHE, kv_heads=7))
    (option,) = simple([one], [gpu_node("n", "x-40g", 40, 1)])

    assert ("1 × x-40g", 1, 1, "") == (option.place.label, option.place.cards, option.place.nodes, option.place.fabric)


WIDE = artifact("wide", 141 * GB, form="safetensors", shape=replace(NO_CACHE, kv_heads=8))


@pytest.mark.parametrize(
    ("count", "size_gb", "expected"),
    [
        (2, 141, ["2 nodes × 2 x-80g on ib0"]),
        (3, 141, ["2 nodes × 2 x-80g on ib0"]),
        (3, 300, []),
        (4, 300, ["4 nodes × 2 x-80g on ib0"]),
        (1, 141, []),
    ],
)
def test_over_nodes_two_four_eight_are_taken_and_fewer_than_needed_give_no_line(
    count: int, size_gb: int, expected: list[str]
) -> None:
    """With 3 nodes, 4 are never tried."""
    nodes = [gpu_node(f"n{number}", "x-80g", 80, 2, fabric="ib0") for number in range(count)]

    assert expected == labels(simple([replace(WIDE, size_bytes=size_gb * GB)], nodes))


def test_nodes_in_no_fabric_take_nothing_together() -> None:
    assert [] == labels(simple([WIDE], [gpu_node(f"n{number}", "x-80g", 80, 2) for number in range(4)]))


def test_there_is_one_line_a_fabric_in_order_of_sight() -> None:
    nodes = [
        gpu_node(f"n{number}", "x-80g", 80, 2, free=number % 2, fabric=f"ib{number % 2}") for number in range(3, 8)
    ]

    assert ["2 nodes × 2 x-80g on ib1", "2 nodes × 2 x-80g on ib0"] == labels(simple([WIDE], nodes))


def test_hosts_of_a_fabric_must_have_the_width_that_the_widest_node_of_the_class_sets() -> None:
    nodes = [gpu_node("a", "x-80g", 80, 4, fabric="ib0"), gpu_node("b", "x-80g", 80, 2, fabric="ib0")]

    assert [] == labels(simple([replace(WIDE, size_bytes=400 * GB)], nodes))
    assert ["2 nodes × 4 x-80g on ib0"] == labels(
        simple([replace(WIDE, size_bytes=400 * GB)], [*nodes, gpu_node("c", "x-80g", 80, 5, fabric="ib0")])
    )


def test_over_nodes_is_free_where_as_many_nodes_have_their_cards_free() -> None:
    nodes = [gpu_node(f"n{number}", "x-80g", 80, 2, free=2 if number < 1 else 1, fabric="ib0") for number in range(3)]

    assert [False] == [option.free_now for option in simple([WIDE], nodes)]
    nodes[1] = replace(nodes[1], free_gpus=2)
    assert [True] == [option.free_now for option in simple([WIDE], nodes)]


def test_a_known_exception_one_wider_node_removes_the_only_line_of_a_class() -> None:
    """8 cards do not divide 4 heads, and only the largest power of two is tried over nodes."""
    one = artifact("a", 230 * GB, form="safetensors", shape=replace(NO_CACHE, kv_heads=4))
    nodes = [gpu_node(f"n{number}", "x-40g", 40, 4, fabric="ib0") for number in range(2)]

    assert ["2 nodes × 4 x-40g on ib0"] == labels(simple([one], nodes))
    assert [] == labels(simple([one], [*nodes, gpu_node("wide", "x-40g", 40, 8, fabric="ib0")]))


def test_a_known_exception_a_line_of_one_node_hides_that_of_several() -> None:
    nodes = [gpu_node(f"n{number}", "x-80g", 80, 2, fabric="ib0") for number in range(2)]

    assert ["4 × x-80g"] == labels(simple([WIDE], [*nodes, gpu_node("wide", "x-80g", 80, 4)]))


def test_an_artifact_without_parameters_has_the_bits_of_its_name_or_none() -> None:
    nodes = [gpu_node("n", "x-80g", 80, 1)]
    named, unnamed = simple(
        [artifact("a", GB, quant="Q4_K_M", shape=NO_CACHE), artifact("b", GB, quant="Q4_K_XL", shape=NO_CACHE)], nodes
    )

    assert 4.8 == float(named.bits_per_weight or 0)
    assert unnamed.bits_per_weight is None


def test_the_longest_context_is_the_last_that_fits() -> None:
    have = DEFAULT_POLICY.of_card(24 * GB)
    for cards in (3, 4, 7):
        tokens = longest_context(GOLDEN_ARTIFACTS[0], cards, have, DEFAULT_POLICY.llamacpp)

        assert tokens is not None
        assert card_need(GOLDEN_ARTIFACTS[0], cards, tokens, DEFAULT_POLICY.llamacpp) <= have
        assert card_need(GOLDEN_ARTIFACTS[0], cards, tokens + 1, DEFAULT_POLICY.llamacpp) > have


def test_weights_that_do_not_fit_have_no_longest_context() -> None:
    assert longest_context(GOLDEN_ARTIFACTS[0], 1, 24 * GB, DEFAULT_POLICY.llamacpp) is None

"""Figures that real builds printed, in MiB, for models of known shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.llamacpp import MIB, emulated, llama_70b, mixtral, model

from solver.engines.llamacpp.facts import HOST_NAME
from tensors.cache import CacheKind

if TYPE_CHECKING:
    from solver.engines.llamacpp.emulation import Emulation
    from tensors.inventory import Inventory
    from tensors.metadata import MetadataValue


@pytest.fixture(scope="module")
def large() -> Inventory:
    return llama_70b()


@pytest.fixture(scope="module")
def mixture() -> Inventory:
    return mixtral()


def printed(emulation: Emulation) -> list[tuple[str, int, int]]:
    """Return what the estimator prints of every device: whole MiB of model and context."""
    return [(row.name, row.model_bytes // MIB, (row.cache_bytes + row.state_bytes) // MIB) for row in emulation.rows]


@pytest.mark.parametrize(
    ("flags", "servers", "expected"),
    [
        ("-ngl 99 -ts 3,2", 2, [("RPC0", 22494, 1568), ("RPC1", 15052, 992), (HOST_NAME, 563, 0)]),
        (
            "-ngl 81 -ts 30,31,20",
            3,
            [("RPC0", 13771, 960), ("RPC1", 14230, 992), ("RPC2", 9544, 608), (HOST_NAME, 563, 0)],
        ),
        (
            "-ngl 40 -ts 10,20,10",
            3,
            [("RPC0", 4590, 320), ("RPC1", 9181, 640), ("RPC2", 4953, 288), (HOST_NAME, 19385, 1312)],
        ),
    ],
)
def test_estimates_of_a_70b_model(
    flags: str, servers: int, expected: list[tuple[str, int, int]], large: Inventory
) -> None:
    """llama-fit-params of b11434 with CPU servers and repacking off, on a header-only file of that shape."""
    assert expected == printed(emulated(large, f"-c 8192 -nr {flags}", servers=servers))


def test_a_tied_head_is_paid_twice() -> None:
    rows = printed(emulated(llama_70b(tied=True), "-c 8192 -ngl 99 -ts 3,2"))

    assert [("RPC1", 14794, 992), (HOST_NAME, 563, 0)] == rows[1:]


@pytest.mark.parametrize(
    ("flags", "contexts"),
    [
        ("-c 8200", [1617, 1023, 0]),
        ("-c 8192 -fa on -ctk q8_0 -ctv q8_0", [833, 527, 0]),
        ("-c 8192 -nkvo", [0, 0, 2560]),
    ],
)
def test_contexts_of_a_70b_model(flags: str, contexts: list[int], large: Inventory) -> None:
    """8200 tokens are 8448 cells; a value of q8_0 takes 17/32 of one of f16; caches may stay on the host."""
    assert contexts == [context for _, _, context in printed(emulated(large, f"-ngl 99 -ts 3,2 {flags}"))]


def test_the_second_share_may_be_the_first_above_zero(large: Inventory) -> None:
    rows = printed(emulated(large, "-c 8192 -ngl 99 -ts 0,1"))

    assert ("RPC0", 0, 0) == rows[0]


def test_estimates_of_a_mixture(mixture: Inventory) -> None:
    assert [("RPC0", 13237, 544), ("RPC1", 11782, 480)] == printed(emulated(mixture, "-c 8192 -ngl 99 -ts 1,1"))[:2]


def test_experts_of_the_first_blocks_stay_on_the_host_and_caches_do_not(mixture: Inventory) -> None:
    rows = printed(emulated(mixture, "-c 8192 -ngl 99 -ts 1,1 --n-cpu-moe 10"))

    assert [("RPC0", 5677, 544), (HOST_NAME, 7630, 0)] == [rows[0], rows[2]]


def test_the_embedding_can_be_forced_to_a_device(mixture: Inventory) -> None:
    flags = "-c 8192 -ngl 99 -ts 1,1 -ot ^token_embd\\.weight$=RPC0[127.0.0.1:50100]"

    assert (HOST_NAME, 0, 0) == printed(emulated(mixture, flags))[-1]


def test_a_pattern_is_found_anywhere_in_a_name(large: Inventory) -> None:
    r"""`output\.weight` is in every attn_output.weight too: 1938 MiB leave the second device, not 822."""
    patterns = ("none", r"output\.weight", r"^output\.weight$")
    rows = [
        printed(emulated(large, f"-c 8192 -ngl 99 -ts 3,2 -ot {pattern}=RPC0[127.0.0.1:50100]"))[1][1]
        for pattern in patterns
    ]

    assert [1938, 822] == [rows[0] - row for row in rows[1:]]


LATENT: dict[str, MetadataValue] = {
    "attention.head_count": 128,
    "attention.head_count_kv": 1,
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
}
INTERVAL: dict[str, MetadataValue] = {
    "full_attention_interval": 4,
    "attention.head_count": 24,
    "attention.head_count_kv": 4,
    "attention.key_length": 256,
    "attention.value_length": 256,
    "ssm.conv_kernel": 4,
    "ssm.inner_size": 6144,
    "ssm.state_size": 128,
    "ssm.group_count": 16,
    "ssm.time_step_rank": 48,
}


def keys_alone(family: str, blocks: int, keys: dict[str, MetadataValue]) -> Inventory:
    """Return a model of empty blocks: enough for its caches."""
    tensors = [(f"blk.{block}.attn_norm.weight", (64,), "F32") for block in range(blocks)]
    return model(family, {"block_count": blocks, "embedding_length": 5120, **keys}, tensors)


def cache_gib(inventory: Inventory, flags: str, build: str = "b11434") -> float:
    rows = emulated(inventory, f"{flags} -ngl 0", servers=0, build=build).rows
    return rows[-1].cache_bytes / 2**30


@pytest.mark.parametrize(
    ("family", "blocks", "keys", "context", "expected", "digits"),
    [
        ("deepseek2", 61, LATENT, 163840, 10.72, 2),
        ("deepseek2", 61, LATENT, 262144, 17.16, 2),
        ("qwen35", 64, INTERVAL, 262144, 16.00, 2),
        (
            "qwen3",
            28,
            {"attention.head_count": 16, "attention.head_count_kv": 8, "attention.key_length": 128,
             "attention.value_length": 128},
            40960, 4.375, 3,
        ),
        (
            "gemma3",
            62,
            {"attention.head_count": 32, "attention.head_count_kv": 16, "attention.key_length": 128,
             "attention.value_length": 128, "attention.sliding_window": 1024},
            131072, 10.61, 2,
        ),
    ],
    ids=["DeepSeek-V3.1", "Kimi-K2.5", "Qwen3.5-27B", "Qwen3-0.6B", "Gemma-3-27B"],
)  # fmt: skip
def test_caches_of_published_models(
    family: str, blocks: int, keys: dict[str, MetadataValue], context: int, expected: float, digits: int
) -> None:
    """In GiB, f16, one sequence, micro-batch 512."""
    assert expected == round(cache_gib(keys_alone(family, blocks, keys), f"-c {context}"), digits)


def glm_5() -> Inventory:
    """Return the caches of GLM-5: 78 blocks with a sparse indexer, and one more for multi-token prediction."""
    keys: dict[str, MetadataValue] = {
        **LATENT,
        "context_length": 202752,
        "nextn_predict_layers": 1,
        "attention.indexer.key_length": 128,
    }
    return keys_alone("glm-dsa", 79, keys)


@pytest.mark.parametrize(("build", "expected"), [("b8100", 17.18), ("b10256", 16.97 + 3.77), ("b11434", 16.97 + 3.77)])
def test_builds_differ_in_what_glm_5_keeps(build: str, expected: float) -> None:
    """An early build pays for the block of multi-token prediction and keeps no indexer keys; later ones the reverse."""
    assert expected == pytest.approx(cache_gib(glm_5(), "-c 202752", build), abs=0.005)


def test_latents_of_glm_5_without_the_block_of_multi_token_prediction() -> None:
    terms = glm_5().architecture.cache
    assert isinstance(terms, tuple)
    latents = [term.key_values for term in terms if term.kind is CacheKind.LATENT and term.block < 78]

    assert 16.97 == round(sum(latents) * 2 * 202752 / 2**30, 2)


@pytest.mark.parametrize(
    ("build", "family", "paid"),
    [("b10256", "glm4moe", 5), ("b10256", "mimo2", 4), ("b11434", "glm4moe", 4), ("b7400", "mimo2", 5)],
)
def test_builds_differ_in_which_families_pay_for_blocks_that_do_not_draft(build: str, family: str, paid: int) -> None:
    keys: dict[str, MetadataValue] = {
        "nextn_predict_layers": 1,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "attention.key_length": 64,
        "attention.value_length": 64,
    }
    inventory = keys_alone(family, 5, keys)

    assert paid * 256 * 1024 == cache_gib(inventory, "-c 512", build) * 2**30


def test_legacy_headers_without_latent_widths_keep_every_head() -> None:
    """DeepSeek-R1 as it was first converted, 2048 tokens: 9760 MiB."""
    keys: dict[str, MetadataValue] = {
        "attention.head_count": 128,
        "attention.head_count_kv": 128,
        "attention.key_length": 192,
        "attention.value_length": 128,
    }

    assert 9760 == cache_gib(keys_alone("deepseek2", 61, keys), "-c 2048") * 1024


@pytest.mark.parametrize(
    ("flags", "expected"),
    [("-np 1", 39), ("-np 2", 54), ("-np 4", 84), ("-np 1 -kvu", 39), ("-np 2 -kvu", 46.5), ("-np 4 -kvu", 61.5)],
)
def test_windows_of_gemma_3_270m(flags: str, expected: float) -> None:
    """8192 tokens, in MiB: windows are kept for each sequence, and rounded up to 256 cells."""
    keys: dict[str, MetadataValue] = {
        "attention.head_count": 4,
        "attention.head_count_kv": 1,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "attention.sliding_window": 512,
    }
    inventory = keys_alone("gemma3", 18, keys)

    assert expected == cache_gib(inventory, f"llama-server -c 8192 {flags}") * 1024


@pytest.mark.parametrize(
    ("blocks", "groups", "inner", "heads", "expected"),
    [(64, 16, 6144, 48, 598.5), (40, 16, 4096, 32, 30 * 4 * 2.09375)],
    ids=["Qwen3.6-27B", "Qwen3.6-35B-A3B"],
)
def test_states_of_four_sequences(blocks: int, groups: int, inner: int, heads: int, expected: float) -> None:
    """In MiB; they do not grow with the context."""
    keys = {**INTERVAL, "ssm.inner_size": inner, "ssm.group_count": groups, "ssm.time_step_rank": heads}
    emulation = emulated(keys_alone("qwen35", blocks, keys), "llama-server -c 4096 -np 4 -ngl 0", servers=0)

    assert expected == emulation.rows[-1].state_bytes / MIB

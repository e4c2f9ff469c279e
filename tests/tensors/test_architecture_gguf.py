"""Caches of model families, from the headers of GGUF files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.configs import F16, terms
from support.headers import LATENT, LLAMA, MAMBA, header

from tensors.architecture import Architecture, Experts
from tensors.cache import CacheKind, CacheTerm, CacheType, generic_settings, term_bytes

if TYPE_CHECKING:
    from tensors.metadata import MetadataValue


def windows(architecture: Architecture) -> str:
    """Return a letter for each term: W for a window, F for attention to everything, R for state."""
    letters = {CacheKind.WINDOW: "W", CacheKind.FULL: "F", CacheKind.RECURRENT: "R"}
    return "".join(letters[term.kind] for term in terms(architecture))


def gibibytes(architecture: Architecture, context: int, kind: CacheType = F16) -> float:
    settings = generic_settings(context, 1, kind, kind)
    return round(sum(term_bytes(term, settings) for term in terms(architecture)) / 2**30, 3)


def test_grouped_attention_keeps_the_heads_of_keys_and_values() -> None:
    architecture = header("llama", LLAMA, vocab_size=32000, expert_count=8, expert_used_count=2)

    expected = tuple(CacheTerm(CacheKind.FULL, block, 2, 128, 128, 0, None, 1, True) for block in range(4))
    assert expected == terms(architecture)
    assert ("llama", 4, 0, 512, 32000, 8192, 8) == (
        architecture.family,
        architecture.trunk_blocks,
        architecture.nextn_blocks,
        architecture.hidden_size,
        architecture.vocabulary_size,
        architecture.context_tokens,
        architecture.heads,
    )
    assert Experts(routed=8, used=2, shared=0) == architecture.experts
    assert 2 == architecture.kv_heads
    assert (None, (), None) == (architecture.index_topk, architecture.full_indexer_blocks, architecture.tied)


def test_heads_may_differ_by_block_and_a_block_without_any_keeps_nothing() -> None:
    architecture = header("deci", LLAMA, attention__head_count_kv=(4, 0, 2, 0))

    assert [(0, 256), (2, 128)] == [(term.block, term.key_values) for term in terms(architecture)]


def test_without_widths_a_head_has_an_even_share_of_the_embedding() -> None:
    keys = {"block_count": 1, "embedding_length": 512, "attention.head_count": 8}

    assert [(8, 512, 512)] == [(term.heads, term.key_values, term.value_values) for term in terms(header("gpt2", keys))]


def test_latent_attention_keeps_keys_alone() -> None:
    architecture = header("deepseek2", LATENT)

    assert tuple(CacheTerm(CacheKind.LATENT, block, 1, 576, 0, 0, None, 1, True) for block in range(4)) == terms(
        architecture
    )
    assert architecture.kv_heads is None


def test_zeros_for_the_widths_of_latents_mean_that_there_are_none() -> None:
    architecture = header("deepseek2", LATENT, attention__key_length_mla=0, attention__value_length_mla=0)

    assert {CacheKind.FULL} == {term.kind for term in terms(architecture)}


def test_blocks_for_further_tokens_come_after_the_trunk_and_attend_to_everything() -> None:
    architecture = header("qwen35", LLAMA, nextn_predict_layers=1, full_attention_interval=2, **MAMBA)

    assert (3, 1) == (architecture.trunk_blocks, architecture.nextn_blocks)
    assert "RFRF" == windows(architecture)


def test_indexers_of_a_short_context_all_compute_their_own_indices() -> None:
    architecture = header("glm-dsa", LATENT, attention__indexer__key_length=128, attention__indexer__top_k=2048)

    expected = [(block, 128, True) for block in range(4)]
    indexers = [term for term in terms(architecture) if term.kind is CacheKind.INDEXER]
    assert expected == [(term.block, term.key_values, term.own_indices) for term in indexers]
    assert (2048, (0, 1, 2, 3)) == (architecture.index_topk, architecture.full_indexer_blocks)


def test_without_types_a_context_of_a_million_tokens_means_every_fourth_indexer() -> None:
    architecture = header(
        "glm-dsa",
        LATENT,
        block_count=79,
        nextn_predict_layers=1,
        context_length=2**20,
        attention__indexer__key_length=128,
    )

    assert (0, 1, *range(2, 78, 4)) == architecture.full_indexer_blocks
    indexers = [term for term in terms(architecture) if term.kind is CacheKind.INDEXER]
    assert list(range(78)) == [term.block for term in indexers]
    assert set(architecture.full_indexer_blocks) == {term.block for term in indexers if term.own_indices}


def test_types_of_indexers_win_over_the_context() -> None:
    architecture = header(
        "glm-dsa",
        LATENT,
        context_length=2**20,
        attention__indexer__key_length=128,
        attention__indexer__types=(True, False, False, True),
    )

    assert (0, 3) == architecture.full_indexer_blocks


@pytest.mark.parametrize(
    ("family", "blocks", "keys", "expected"),
    [
        ("gemma3", 12, {"attention__sliding_window": 1024}, "WWWWWFWWWWWF"),
        ("gemma3", 4, {"attention__sliding_window": 0}, "FFFF"),
        ("gemma3", 4, {}, "FFFF"),
        ("gemma3", 4, {"attention__sliding_window": 9, "attention__sliding_window_pattern": 2}, "WFWF"),
        ("gemma2", 4, {}, "WFWF"),
        ("gpt-oss", 4, {"attention__sliding_window": 128}, "WFWF"),
        ("cohere2moe", 8, {"attention__sliding_window": 4096}, "FWWWFWWW"),
        ("llama4", 8, {}, "WWWFWWWF"),
        ("llama4", 4, {"attention__sliding_window": 0}, "FFFF"),
        ("smallthinker", 4, {"attention__sliding_window": 2048}, "FWWW"),
        ("exaone4", 8, {"attention__sliding_window": 512}, "F" * 8),
        ("exaone4", 64, {"attention__sliding_window": 512}, "WWWF" * 16),
        ("phi3", 4, {"attention__sliding_window": 2047}, "FFFF"),
        (
            "gemma4",
            4,
            {"attention__sliding_window": 512, "attention__sliding_window_pattern": (True, True, True, False)},
            "WWWF",
        ),
    ],
)
def test_each_family_has_its_windows(family: str, blocks: int, keys: dict[str, MetadataValue], expected: str) -> None:
    assert expected == windows(header(family, LLAMA, block_count=blocks, **keys))


@pytest.mark.parametrize(("family", "expected"), [("gemma2", 4096), ("llama4", 8192), ("smallthinker", 4096)])
def test_some_loaders_bring_their_own_window(family: str, expected: int) -> None:
    said: dict[str, MetadataValue] = {} if family == "gemma2" else {"attention__sliding_window": 77}

    assert {expected, None} == {term.window_tokens for term in terms(header(family, LLAMA, **said))}


def test_a_window_may_have_heads_and_widths_of_its_own_and_late_blocks_share_what_others_keep() -> None:
    architecture = header(
        "gemma4",
        LLAMA,
        attention__head_count_kv=(2, 1, 2, 1),
        attention__sliding_window=512,
        attention__sliding_window_pattern=(True, False, True, False),
        attention__key_length_swa=32,
        attention__value_length_swa=16,
        attention__shared_kv_layers=1,
    )

    assert [(64, 32, 512), (64, 64, None), (64, 32, 512)] == [
        (term.key_values, term.value_values, term.window_tokens) for term in terms(architecture)
    ]


@pytest.mark.parametrize(
    ("family", "keys", "expected_blocks", "expected_values"),
    [
        ("mamba2", MAMBA, (0, 1, 2, 3), 3 * (256 + 2 * 2 * 64) + 64 * 256),
        ("jamba", {**MAMBA, "attention__head_count_kv": (0, 2, 0, 0)}, (0, 2, 3), 3 * (256 + 256) + 64 * 256),
        ("falcon-h1", MAMBA, (0, 1, 2, 3), 3 * (256 + 256) + 64 * 256),
        ("qwen3next", MAMBA, (0, 1, 2), 3 * (256 + 256) + 64 * 256),
        (
            "nemotron_h",
            {**MAMBA, "attention__head_count_kv": (2, 0, 0, 2), "feed_forward_length": (0, 0, 9, 0)},
            (1,),
            3 * (256 + 256) + 64 * 256,
        ),
        (
            "kimi-linear",
            {"attention__head_count_kv": (0, 1, 0, 1), "ssm__conv_kernel": 4, "kda__head_dim": 16},
            (0, 2),
            3 * 3 * 8 * 16 + 8 * 16 * 16,
        ),
        ("lfm2", {"attention__head_count_kv": (0, 0, 2, 0), "shortconv__l_cache": 3}, (0, 1, 3), 512 * 2),
        ("rwkv7", {"wkv__head_size": 64}, (0, 1, 2, 3), 512 * (2 + 64)),
        ("arwkv7", {"wkv__head_size": 64, "token_shift_count": 1}, (0, 1, 2, 3), 512 * (1 + 64)),
        ("minimax-01", {"attention__recurrent_layers": (1, 0, 1, 0)}, (0, 2), 8 * 64 * 64),
    ],
)
def test_each_recurrent_family_has_its_blocks_and_its_state(
    family: str, keys: dict[str, MetadataValue], expected_blocks: tuple[int, ...], expected_values: int
) -> None:
    states = [term for term in terms(header(family, LLAMA, **keys)) if term.kind is CacheKind.RECURRENT]

    assert expected_blocks == tuple(term.block for term in states)
    assert {expected_values} == {term.state_values for term in states}


def test_only_some_hybrids_attend_beside_their_state() -> None:
    assert "RF" * 4 == windows(header("falcon-h1", LLAMA, **MAMBA))
    assert "RRRF" == windows(header("qwen3next", LLAMA, **MAMBA))
    feed_forward = {**MAMBA, "attention__head_count_kv": (2, 0, 0, 2), "feed_forward_length": (0, 0, 9, 0)}
    assert "FRF" == windows(header("nemotron_h", LLAMA, **feed_forward))


def test_compressed_keys_stand_for_several_tokens_beside_a_window() -> None:
    architecture = header(
        "deepseek4",
        LLAMA,
        block_count=3,
        attention__sliding_window=128,
        attention__compress_ratios=(0, 4, 128),
        attention__indexer__key_length=32,
    )

    window = (CacheKind.WINDOW, 64, 0, 128, 1)
    assert [
        (0, *window),
        (1, *window),
        (1, CacheKind.LATENT, 64, 0, None, 4),
        (1, CacheKind.INDEXER, 32, 0, None, 4),
        (1, CacheKind.RECURRENT, 0, 2 * 8 * 128 + 2 * 8 * 64, None, 1),
        (2, *window),
        (2, CacheKind.LATENT, 64, 0, None, 128),
        (2, CacheKind.RECURRENT, 0, 2 * 128 * 64, None, 1),
    ] == [
        (term.block, term.kind, term.key_values, term.state_values, term.window_tokens, term.tokens_per_cell)
        for term in terms(architecture)
    ]


def test_an_indexer_may_begin_after_dense_blocks_and_keep_values_too() -> None:
    architecture = header("minimax-m3", LLAMA, attention__indexer__key_length=32, leading_dense_block_count=3)

    indexers = [term for term in terms(architecture) if term.kind is CacheKind.INDEXER]
    assert [(3, 32, 64)] == [(term.block, term.key_values, term.value_values) for term in indexers]


@pytest.mark.parametrize(
    ("architecture", "context", "expected"),
    [
        (header("deepseek2", LATENT, block_count=61), 163840, 10.723),
        (header("deepseek2", LATENT, block_count=61), 262144, 17.156),
        (
            header(
                "qwen3",
                LLAMA,
                block_count=28,
                attention__head_count_kv=8,
                attention__key_length=128,
                attention__value_length=128,
            ),
            40960,
            4.375,
        ),
        (
            header(
                "llama",
                LLAMA,
                block_count=80,
                attention__head_count_kv=8,
                attention__key_length=128,
                attention__value_length=128,
            ),
            8192,
            2.5,
        ),
    ],
)
def test_published_models_have_their_measured_caches(architecture: Architecture, context: int, expected: float) -> None:
    """DeepSeek-V3.1, Kimi-K2.5, Qwen3-0.6B and Llama-3.1-70B, in GiB of 16-bit values."""
    assert expected == gibibytes(architecture, context)

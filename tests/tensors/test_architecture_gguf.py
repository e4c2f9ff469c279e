"""Architectures read from the keys of GGUF headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensors.architecture import Architecture, Experts, MissingFact, from_gguf
from tensors.architecture.gguf_families import KNOWN
from tensors.cache import CacheKind, CacheTerm, CacheType, block_caches, cache_type, generic_settings, term_bytes
from tensors.metadata import MAXIMUM_BLOCKS, ArraySummary

if TYPE_CHECKING:
    from tensors.metadata import MetadataValue

LLAMA: dict[str, MetadataValue] = {
    "block_count": 4,
    "context_length": 8192,
    "embedding_length": 512,
    "attention.head_count": 8,
    "attention.head_count_kv": 2,
    "attention.key_length": 64,
    "attention.value_length": 64,
}
LATENT: dict[str, MetadataValue] = {
    "block_count": 4,
    "context_length": 4096,
    "embedding_length": 512,
    "attention.head_count": 8,
    "attention.head_count_kv": 1,
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
}
F16 = cache_type("f16")


def header(family: str, keys: dict[str, MetadataValue], **more: MetadataValue) -> Architecture:
    """Return the architecture of a header; keyword `a__b` is key `a.b`."""
    metadata: dict[str, MetadataValue] = {"general.architecture": family}
    metadata.update({f"{family}.{key}": value for key, value in keys.items()})
    metadata.update({f"{family}.{key.replace('__', '.')}": value for key, value in more.items()})
    return from_gguf(metadata, {})


def terms(architecture: Architecture) -> tuple[CacheTerm, ...]:
    assert isinstance(architecture.cache, tuple)
    return architecture.cache


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


MAMBA: dict[str, MetadataValue] = {
    "ssm__conv_kernel": 4,
    "ssm__inner_size": 256,
    "ssm__state_size": 64,
    "ssm__group_count": 2,
    "ssm__time_step_rank": 4,
}


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


def test_encoders_keep_nothing() -> None:
    assert () == header("modern-bert", LLAMA).cache


@pytest.mark.parametrize(
    ("family", "absent", "expected"),
    [
        ("llama", "attention.head_count", "llama.attention.head_count"),
        ("llama", "block_count", "llama.block_count"),
        ("glm-dsa", "", "glm-dsa.attention.indexer.key_length"),
        ("mamba", "", "mamba.ssm.inner_size"),
        ("gemma4", "", "gemma4.attention.sliding_window_pattern"),
        ("minimax-01", "", "minimax-01.attention.recurrent_layers"),
        ("nemotron_h", "", "nemotron_h.feed_forward_length"),
        ("deepseek4", "", "deepseek4.attention.sliding_window"),
        ("rwkv7", "", "rwkv7.wkv.head_size"),
        ("lfm2", "attention.head_count_kv", "lfm2.attention.head_count_kv"),
    ],
)
def test_what_is_missing_is_named(family: str, absent: str, expected: str) -> None:
    keys = {key: value for key, value in LLAMA.items() if key not in {absent, "attention.key_length"}}
    if absent == "attention.head_count":
        del keys["attention.head_count_kv"]
    if family == "gemma4":
        keys["attention.sliding_window"] = 512
    if family == "nemotron_h":
        keys["attention.head_count_kv"] = (2, 0, 2, 0)

    problem = f'the header has no usable "{expected}"; expected it, as the size of the cache follows from it.'
    assert MissingFact(problem) == header(family, keys).cache


def test_an_unknown_family_still_has_its_blocks() -> None:
    architecture = header("new\x1b[31m", LLAMA)

    assert (4, 512) == (architecture.trunk_blocks, architecture.hidden_size)
    expected = '"general.architecture" is "new\\x1b[31m"; expected a family whose cache is known here.'
    assert MissingFact(expected) == architecture.cache


def test_a_header_without_a_family_is_counted_by_its_tensors() -> None:
    architecture = from_gguf(
        {}, {"blk.0.attn_q.weight": (8, 8), "blk.6.attn_q.weight": (8, 8), "token_embd.weight": (100, 8)}
    )

    assert ("unknown", 7, 100, True) == (
        architecture.family,
        architecture.trunk_blocks,
        architecture.vocabulary_size,
        architecture.tied,
    )
    expected = 'the header has no usable "general.architecture"; expected it, as the size of the cache follows from it.'
    assert MissingFact(expected) == architecture.cache


def test_an_absurd_number_of_blocks_is_no_number() -> None:
    """What a header claims is bounded before anything is made from it."""
    assert 0 == header("llama", LLAMA, block_count=MAXIMUM_BLOCKS + 1).trunk_blocks
    assert 0 == from_gguf({}, {"blk.9999.x.weight": (1,)}).trunk_blocks


def test_the_vocabulary_is_counted_by_its_tokens_where_no_key_says() -> None:
    metadata = {"general.architecture": "llama", "tokenizer.ggml.tokens": ArraySummary("string", 1234)}

    assert 1234 == from_gguf(metadata, {}).vocabulary_size


VALUES = st.one_of(
    st.integers(-(2**70), 2**70),
    st.integers(0, 8),
    st.floats(),
    st.booleans(),
    st.text(max_size=3),
    st.lists(st.integers(-1, 4), max_size=9).map(tuple),
    st.lists(st.booleans(), max_size=9).map(tuple),
    st.builds(ArraySummary, st.just("string"), st.integers(0, 2**63)),
)
KEYS = (
    *LLAMA,
    *LATENT,
    *(key.replace("__", ".") for key in MAMBA),
    "attention.compress_ratios",
    "attention.indexer.key_length",
    "attention.indexer.kpool",
    "attention.indexer.types",
    "attention.recurrent_layers",
    "attention.shared_kv_layers",
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "embedding_length_out",
    "expert_count",
    "expert_shared_count",
    "expert_used_count",
    "feed_forward_length",
    "full_attention_interval",
    "kda.head_dim",
    "leading_dense_block_count",
    "nextn_predict_layers",
    "ple.conv_kernel",
    "ple.layers",
    "ple.ngram_size",
    "shortconv.l_cache",
    "token_shift_count",
    "wkv.head_size",
)


@given(st.sampled_from(sorted(KNOWN)), st.dictionaries(st.sampled_from(KEYS), VALUES), st.booleans())
def test_no_header_raises_and_every_term_lies_in_a_block(
    family: str, keys: dict[str, MetadataValue], plausible: bool
) -> None:
    """Whatever stands under the keys, the architecture is whole and its cache can be sized or says what is missing."""
    architecture = header(family, (LLAMA if plausible else {}) | keys)

    blocks = architecture.trunk_blocks + architecture.nextn_blocks
    assert 0 <= architecture.nextn_blocks <= blocks <= MAXIMUM_BLOCKS
    assert all(block < architecture.trunk_blocks for block in architecture.full_indexer_blocks)
    if isinstance(architecture.cache, MissingFact):
        assert architecture.cache.problem
        return
    assert all(0 <= term.block < blocks and term.heads > 0 for term in architecture.cache)
    sizes = block_caches(architecture.cache, blocks, generic_settings(1000, 2, F16, F16))
    assert all(size.cache_bytes >= 0 for size in sizes)

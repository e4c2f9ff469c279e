"""Headers that lack what a cache needs, and those that nobody could mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.configs import F16
from support.headers import LATENT, LLAMA, MAMBA, header

from tensors.architecture import MissingFact, from_gguf
from tensors.architecture.gguf_families import KNOWN
from tensors.cache import block_caches, generic_settings
from tensors.metadata import MAXIMUM_BLOCKS, ArraySummary

if TYPE_CHECKING:
    from tensors.metadata import MetadataValue


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

"""Contexts, batches and caches: defaults, padding and what the engine refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.llamacpp import dense, emulated, model

from solver.engines.llamacpp.emulation import context_request
from solver.engines.llamacpp.facts import FlashAttention
from solver.engines.llamacpp.interpret import request_of
from solver.engines.llamacpp.profile import DEFAULT_BUILD, profile_of
from solver.engines.llamacpp.settings import settings_of
from solver.errors import InputError

if TYPE_CHECKING:
    from solver.engines.llamacpp.facts import Settings
    from tensors.inventory import Inventory
    from tensors.metadata import MetadataValue

KEYS: dict[str, MetadataValue] = {
    "block_count": 2,
    "context_length": 6000,
    "embedding_length": 256,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
}


def small(family: str = "llama", **keys: MetadataValue) -> Inventory:
    """Return a model of two blocks, whose heads are 64 wide."""
    tensors = dense(2, hidden=256, kv_width=128, feed_forward=512, vocabulary=512, kind="F16", head_kind="F16")
    return model(family, KEYS | {key.replace("__", "."): value for key, value in keys.items()}, tensors, vocabulary=512)


def settings(flags: str, inventory: Inventory | None = None) -> Settings:
    return emulated(inventory or small(), flags, servers=0).settings


@pytest.mark.parametrize(
    ("flags", "context", "sequence", "sequences", "unified"),
    [
        ("llama-completion -c 1000", 1024, 1024, 1, False),
        ("llama-completion -c 1000 -np 3", 1536, 512, 3, False),
        ("llama-completion -fit off", 6144, 6144, 1, False),
        ("llama-completion -c 1", 256, 256, 1, False),
        ("llama-cli -c 1000", 1024, 1024, 1, False),
        ("llama-server -c 1000", 1024, 1024, 4, True),
        ("llama-server -c 1000 -np 2", 1024, 512, 2, False),
        ("llama-server -c 1000 -np 2 -kvu", 1024, 1024, 2, True),
        ("llama-server -c 1000 -no-kvu", 1024, 1024, 4, True),
        ("llama-server -np -1 -fit off", 6144, 6144, 4, True),
        ("llama-server -np 2 -fit off", 6144, 3072, 2, False),
        ("llama-server -np 2", 12288, 6144, 2, False),
        ("llama-server --kv-unified-per-slot 1000", 4096, 4096, 4, True),
        ("llama-server --kv-unified-per-slot 1000 -c 0", 6144, 6144, 4, True),
        ("llama-bench", 512, 512, 1, False),
    ],
)
def test_contexts_are_padded_and_shared_out(
    flags: str, context: int, sequence: int, sequences: int, unified: bool
) -> None:
    """A server takes 4 sequences that share one context unless a number is given.

    Fitting begins with a trained length for every run of cells; without fitting there is one for all of them.
    """
    found = settings(flags)

    assert (context, sequence, sequences, unified) == (
        found.context_tokens,
        found.sequence_tokens,
        found.sequences,
        found.unified,
    )


@pytest.mark.parametrize(
    ("flags", "batch", "micro_batch", "rows"),
    [
        ("llama-completion -c 8192", 2048, 512, 2048),
        ("llama-completion -c 100", 100, 100, 100),
        ("llama-completion -c 1", 8, 8, 8),
        ("llama-completion -c 8192 -b 64", 64, 64, 64),
        ("llama-completion -c 8192 -ub 0", 2048, 2048, 2048),
        ("llama-server -c 8192", 2048, 512, 4),
        ("llama-server -c 8192 -np 2 -b 1", 1, 1, 1),
        ("llama-cli -c 8192", 2048, 512, 1),
    ],
)
def test_batches_are_no_longer_than_the_context(flags: str, batch: int, micro_batch: int, rows: int) -> None:
    """Servers reserve a row of logits for each sequence, other programs one for each token of a batch."""
    found = settings(flags)

    assert (batch, micro_batch, rows) == (found.batch_tokens, found.micro_batch_tokens, found.output_rows)


@pytest.mark.parametrize(
    ("family", "flags", "expected"),
    [
        ("llama", "", FlashAttention.AUTO),
        ("llama", "-ctv q8_0", FlashAttention.ON),
        ("grok", "", FlashAttention.OFF),
        ("grok", "-fa on", FlashAttention.OFF),
    ],
)
def test_attention_is_fused_for_quantised_values_and_never_for_grok(
    family: str, flags: str, expected: FlashAttention
) -> None:
    assert expected is settings(f"-c 256 {flags}", small(family)).flash_attention


def test_v_is_as_wide_as_the_widest_block_without_fused_attention() -> None:
    """Of heads in two blocks, 2 and 1; transposed, both pay for 2."""
    inventory = small(attention__head_count_kv=(2, 1))
    fused, plain = (emulated(inventory, f"-c 256 {flags}", servers=0).rows[-1] for flags in ("", "-fa off"))

    assert (256 * 2 * 64 * (2 + 1 + 2 + 1), 256 * 2 * 64 * (2 + 1 + 2 + 2)) == (fused.cache_bytes, plain.cache_bytes)


def test_windows_can_be_switched_off() -> None:
    inventory = small("gemma3", attention__sliding_window=256)
    windowed, full = (
        emulated(inventory, f"-c 4096 -ub 128 {flags}", servers=0).rows[-1].cache_bytes for flags in ("", "--swa-full")
    )

    assert (2 * 512 * 512, 2 * 4096 * 512) == (windowed, full)


def test_caches_on_cuda_fill_quantised_rows() -> None:
    """128 values a row are filled up to 512, once for K and once for V of a block."""
    cuda = emulated(small(), "-c 256 -ctk q8_0 -ctv q8_0 -ngl 99", servers=0, free=[2**34]).rows[0]

    assert 2 * 2 * (256 * 128 // 32 * 34 + (512 - 128) // 32 * 34 + 104) == cuda.cache_bytes


@pytest.mark.parametrize(
    ("family", "flags", "message"),
    [
        (
            "llama",
            "-np 257",
            "sequences: 257 are asked for; expected at most 256. Lower it.",
        ),
        (
            "llama",
            "-ctv q8_0 -fa off",
            (
                "cache type q8_0: a quantised V needs fused attention, which is off; expected f32, f16 or "
                "bf16. Choose one "
                "of them, or fuse attention."
            ),
        ),
        (
            "deepseek2",
            "-ctk q8_0",
            (
                "cache types q8_0 and f16: K is a latent that serves as V too; expected one type for both. "
                "Give both the "
                "same type."
            ),
        ),
    ],
)
def test_what_the_engine_refuses_is_refused(family: str, flags: str, message: str) -> None:
    inventory = small(family, attention__key_length_mla=48, attention__value_length_mla=32)
    with pytest.raises(InputError) as refusal:
        settings(f"-c 256 {flags}", inventory if family == "deepseek2" else small(family))

    assert message == str(refusal.value)


def test_types_whose_blocks_do_not_fill_a_head_are_refused() -> None:
    inventory = small(attention__key_length=80, attention__value_length=80)
    with pytest.raises(InputError) as refusal:
        settings("-c 256 -ctk q8_0", inventory)

    assert (
        "cache type q8_0: its blocks of 32 values do not fill the 80 of one head of K; expected a type "
        "whose blocks do. "
        "Choose f16."
    ) == str(refusal.value)
    assert 256 == settings("-c 256 -ctk q8_0 -fa off", inventory).context_tokens


def test_a_context_is_needed_from_somewhere() -> None:
    with pytest.raises(InputError) as refusal:
        settings("-fit off", small(context_length=0))

    assert (
        "a model: its header has no trained context, and none is asked for; expected one. Ask for a context."
    ) == str(refusal.value)


def _asked(family: str, *, sequences: int, micro_batch: int) -> Settings:
    plain = emulated(small(), "-c 4096", servers=0)
    odd = replace(plain.inventory, architecture=replace(plain.inventory.architecture, family=family))
    words = ("llama-completion", "-m", "m", "-c", "4096", "-np", str(sequences), "-ub", str(micro_batch))
    return settings_of(profile_of(DEFAULT_BUILD), odd, context_request(request_of(words), ()))


@pytest.mark.parametrize(("sequences", "micro_batch"), [(3, 512), (4, 510), (6, 512)])
@pytest.mark.parametrize("family", ["kimi-linear", "minimax-01"])
def test_sequences_that_would_end_the_program_are_refused(family: str, sequences: int, micro_batch: int) -> None:
    """Each of these ended llama-fit-params and llama-server of b11434 with GGML_ASSERT(ggml_can_repeat(b, a))."""
    with pytest.raises(InputError) as refused:
        _asked(family, sequences=sequences, micro_batch=micro_batch)

    assert (
        f"sequences: a micro-batch of {micro_batch} tokens does not split evenly among {sequences}, which ends the "
        f"program for {family}; expected a number that divides it. Take a power of 2."
    ) == str(refused.value)


@pytest.mark.parametrize(
    ("family", "sequences", "micro_batch"),
    [("kimi-linear", 4, 512), ("kimi-linear", 3, 510), ("llama", 3, 512)],
)
def test_sequences_that_the_program_serves_are_taken(family: str, sequences: int, micro_batch: int) -> None:
    assert sequences == _asked(family, sequences=sequences, micro_batch=micro_batch).sequences

"""Compute buffers of families with parts of their own, as a real run of small models of theirs measured them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.llamacpp import Specification, emulated, model

from solver.engines.llamacpp.compute import compute_interval, simulate
from solver.engines.llamacpp.compute_context import Mode
from solver.engines.llamacpp.compute_graph import HOST_PLACE
from solver.engines.llamacpp.emulation import emulate
from solver.engines.llamacpp.profile import DEFAULT_BUILD, MEASURED_BUILD, profile_of

if TYPE_CHECKING:
    from tensors.inventory import Inventory
    from tensors.metadata import MetadataValue

BLOCKS = 8
RECURRENT = (1, 4, 7)


def experts(prefix: str, hidden: int, inner: int, wide: int) -> list[Specification]:
    return [
        (f"{prefix}ffn_gate_inp.weight", (6, hidden), "F32"),
        *((f"{prefix}ffn_{name}_exps.weight", (6, wide, inner), "F16") for name in ("gate", "up")),
        (f"{prefix}ffn_down_exps.weight", (6, inner, wide), "F16"),
        *((f"{prefix}ffn_{name}_shexp.weight", (wide, hidden), "F16") for name in ("gate", "up")),
        (f"{prefix}ffn_down_shexp.weight", (hidden, wide), "F16"),
        (f"{prefix}exp_probs_b.bias", (6,), "F32"),
    ]


def dense(prefix: str, hidden: int, wide: int) -> list[Specification]:
    return [
        *((f"{prefix}ffn_{name}.weight", (wide, hidden), "F16") for name in ("gate", "up")),
        (f"{prefix}ffn_down.weight", (hidden, wide), "F16"),
    ]


def ends(hidden: int) -> list[Specification]:
    return [
        ("token_embd.weight", (1024, hidden), "F16"),
        ("output_norm.weight", (hidden,), "F32"),
        ("output.weight", (1024, hidden), "F16"),
    ]


def minimax_m3(**more: MetadataValue) -> Inventory:
    hidden = 256
    keys: dict[str, MetadataValue] = {
        "block_count": BLOCKS,
        "context_length": 4096,
        "embedding_length": hidden,
        "leading_dense_block_count": 1,
        "expert_count": 6,
        "expert_used_count": 2,
        "attention.head_count": 2,
        "attention.head_count_kv": 2,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.indexer.head_count": 2,
        "attention.indexer.key_length": 128,
        "attention.indexer.top_k": 131072,
        "attention.indexer.block_size": 4,
    } | {key.replace("__", "."): value for key, value in more.items()}
    tensors = ends(hidden)
    for block in range(BLOCKS):
        prefix = f"blk.{block}."
        tensors += [
            *((f"{prefix}attn_{name}.weight", (hidden, hidden), "F16") for name in ("q", "k", "v", "output")),
            *((f"{prefix}attn_{name}_norm.weight", (128,), "F32") for name in ("q", "k")),
            *((f"{prefix}{name}_norm.weight", (hidden,), "F32") for name in ("attn", "ffn")),
            *(experts(prefix, hidden, hidden, 384) if block else dense(prefix, hidden, 384)),
        ]
        if block:
            tensors += [
                (f"{prefix}indexer.q_proj.weight", (256, hidden), "F16"),
                (f"{prefix}indexer.k_proj.weight", (128, hidden), "F16"),
                *((f"{prefix}indexer.{name}_norm.weight", (128,), "F32") for name in ("q", "k")),
            ]
    return model("minimax-m3", keys, tensors, vocabulary=1024)


def kimi_k3(every: int = 12) -> Inventory:
    hidden = 128
    heads = tuple(0 if block in RECURRENT else 1 for block in range(BLOCKS))
    keys: dict[str, MetadataValue] = {
        "block_count": BLOCKS,
        "context_length": 4096,
        "embedding_length": hidden,
        "leading_dense_block_count": 1,
        "expert_count": 6,
        "expert_used_count": 2,
        "attention.head_count": heads,
        "attention.head_count_kv": heads,
        "attention.key_length": 576,
        "attention.value_length": 512,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "attention.kv_lora_rank": 512,
        "attention.recurrent_layers": tuple(int(block in RECURRENT) for block in range(BLOCKS)),
        "ssm.conv_kernel": 4,
        "kda.head_dim": 128,
        "attn_res.block_size": every,
    }
    tensors = [*ends(hidden), ("output_res_score.weight", (hidden,), "F32")]
    for block in range(BLOCKS):
        prefix = f"blk.{block}."
        tensors += [
            *((f"{prefix}{name}_norm.weight", (hidden,), "F32") for name in ("attn", "ffn")),
            *((f"{prefix}{name}_res_score.weight", (hidden,), "F32") for name in ("attn", "ffn")),
            (f"{prefix}attn_output.weight", (hidden, 128), "F16"),
            *(_delta(prefix, hidden) if block in RECURRENT else _latent(prefix, hidden)),
            *(experts(prefix, hidden, 192, 192) if block else dense(prefix, hidden, 192)),
        ]
        if block:
            tensors += [
                (f"{prefix}ffn_routed_down.weight", (192, hidden), "F16"),
                (f"{prefix}ffn_routed_up.weight", (hidden, 192), "F16"),
                (f"{prefix}ffn_routed_norm.weight", (192,), "F32"),
            ]
    return model("kimi-k3", keys, tensors, vocabulary=1024)


def _delta(prefix: str, hidden: int) -> list[Specification]:
    return [
        *((f"{prefix}attn_{name}.weight", (128, hidden), "F16") for name in "qkv"),
        *((f"{prefix}ssm_conv1d_{name}.weight", (128, 1, 4), "F32") for name in "qkv"),
        (f"{prefix}ssm_f_a.weight", (128, hidden), "F16"),
        (f"{prefix}ssm_f_b.weight", (128, 128), "F16"),
        (f"{prefix}ssm_g.weight", (128, hidden), "F16"),
        (f"{prefix}ssm_beta.weight", (1, hidden), "F16"),
        (f"{prefix}ssm_norm.weight", (128,), "F32"),
        (f"{prefix}ssm_dt.bias", (128,), "F32"),
        (f"{prefix}ssm_a", (1, 1), "F32"),
    ]


def _latent(prefix: str, hidden: int) -> list[Specification]:
    return [
        (f"{prefix}attn_q_a.weight", (512, hidden), "F16"),
        (f"{prefix}attn_q_a_norm.weight", (512,), "F32"),
        (f"{prefix}attn_q_b.weight", (192, 512), "F16"),
        (f"{prefix}attn_kv_a_mqa.weight", (576, hidden), "F16"),
        (f"{prefix}attn_kv_a_norm.weight", (512,), "F32"),
        (f"{prefix}attn_k_b.weight", (1, 512, 128), "F16"),
        (f"{prefix}attn_v_b.weight", (1, 128, 512), "F16"),
        (f"{prefix}attn_gate.weight", (128, hidden), "F16"),
    ]


def deepseek4() -> Inventory:
    hidden, head = 512, 64
    ratios = (0, 0, 4, 128, 4, 128, 4, 0)
    keys: dict[str, MetadataValue] = {
        "block_count": BLOCKS,
        "context_length": 4096,
        "embedding_length": hidden,
        "expert_count": 6,
        "expert_used_count": 2,
        "attention.head_count": 8,
        "attention.head_count_kv": 1,
        "attention.key_length": head,
        "attention.value_length": head,
        "attention.sliding_window": 512,
        "attention.indexer.head_count": 64,
        "attention.indexer.key_length": 128,
        "attention.indexer.top_k": 131072,
        "attention.compress_ratios": ratios,
        "hyper_connection.count": 4,
    }
    tensors = [
        *ends(hidden),
        ("output_hc_fn.weight", (4, 4 * hidden), "F16"),
        ("output_hc_base.weight", (4,), "F32"),
        ("output_hc_scale.weight", (1,), "F32"),
    ]
    for block, ratio in enumerate(ratios):
        prefix = f"blk.{block}."
        tensors += [
            *((f"{prefix}{name}_norm.weight", (hidden,), "F32") for name in ("attn", "ffn")),
            *((f"{prefix}attn_{name}_norm.weight", (head,), "F32") for name in ("q_a", "kv_a")),
            (f"{prefix}attn_q_a.weight", (head, hidden), "F16"),
            (f"{prefix}attn_q_b.weight", (512, head), "F16"),
            (f"{prefix}attn_kv.weight", (head, hidden), "F16"),
            (f"{prefix}attn_output_a.weight", (8, 32, head), "F16"),
            (f"{prefix}attn_output_b.weight", (hidden, 256), "F16"),
            (f"{prefix}attn_sinks.weight", (8,), "F32"),
            *experts(prefix, hidden, hidden, 1024),
        ]
        for part in ("hc_attn", "hc_ffn"):
            tensors += [
                (f"{prefix}{part}_fn.weight", (24, 4 * hidden), "F16"),
                (f"{prefix}{part}_base.weight", (24,), "F32"),
                (f"{prefix}{part}_scale.weight", (3,), "F32"),
            ]
        if ratio:
            tensors += _compressor(f"{prefix}attn_compressor", hidden, head, ratio)
        if ratio == 4:
            tensors += [
                *_compressor(f"{prefix}indexer_compressor", hidden, 128, ratio),
                (f"{prefix}indexer.proj.weight", (64, hidden), "F16"),
                (f"{prefix}indexer.attn_q_b.weight", (64 * 128, head), "F16"),
            ]
    return model("deepseek4", keys, tensors, vocabulary=1024)


def _compressor(stem: str, hidden: int, width: int, ratio: int) -> list[Specification]:
    wide = 2 * width if ratio == 4 else width
    return [
        (f"{stem}_kv.weight", (wide, hidden), "F16"),
        (f"{stem}_gate.weight", (wide, hidden), "F16"),
        (f"{stem}_ape.weight", (ratio, wide), "F32"),
        (f"{stem}_norm.weight", (width,), "F32"),
    ]


def minimax_01() -> Inventory:
    hidden = 256
    keys: dict[str, MetadataValue] = {
        "block_count": BLOCKS,
        "context_length": 4096,
        "embedding_length": hidden,
        "expert_count": 6,
        "expert_used_count": 2,
        "attention.head_count": 2,
        "attention.head_count_kv": 2,
        "attention.key_length": 128,
        "attention.value_length": 128,
        "attention.recurrent_layers": tuple(int(block % 2 == 0) for block in range(BLOCKS)),
    }
    tensors = ends(hidden)
    for block in range(BLOCKS):
        prefix = f"blk.{block}."
        lightning = [
            (f"{prefix}attn_norm_2.weight", (hidden,), "F32"),
            (f"{prefix}attn_qkv.weight", (3 * hidden, hidden), "F16"),
            (f"{prefix}attn_gate.weight", (hidden, hidden), "F16"),
        ]
        tensors += [
            *((f"{prefix}{name}_norm.weight", (hidden,), "F32") for name in ("attn", "ffn")),
            (f"{prefix}attn_output.weight", (hidden, hidden), "F16"),
            *(lightning if block % 2 == 0 else _queries(prefix, hidden)),
            *(item for item in experts(prefix, hidden, hidden, 384) if "_exps" in item[0] or "_inp" in item[0]),
        ]
    return model("minimax-01", keys, tensors, vocabulary=1024)


def _queries(prefix: str, hidden: int) -> list[Specification]:
    return [(f"{prefix}attn_{name}.weight", (hidden, hidden), "F16") for name in "qkv"]


def on_host(inventory: Inventory, flags: str, *, flash: bool = True) -> int:
    """Return the simulated buffer of a run without devices."""
    emulation = emulated(inventory, f"{flags} -ngl 0 -nr", servers=0, build=MEASURED_BUILD)
    mode = Mode(flash=flash, pinned=True, probe=False, unseen=False)
    return simulate(inventory, emulation.settings, emulation.assignment, 1, mode)[HOST_PLACE].size_bytes


@pytest.mark.parametrize(
    ("inventory", "flags", "measured"),
    [
        (minimax_m3(), "-c 2048", 26_373_120),
        (kimi_k3(), "-c 2048", 8_007_712),
        (deepseek4(), "-c 2048", 53_312_416),
        (minimax_01(), "-c 2048", 12_216_384),
    ],
)
def test_a_buffer_is_the_one_that_was_measured_to_the_byte(inventory: Inventory, flags: str, measured: int) -> None:
    assert measured == on_host(inventory, flags)


def test_cells_are_chosen_only_by_fused_attention_over_runs_of_their_own() -> None:
    """Else attention is plain, and makes no masks of its own for every group."""
    chosen, plain = minimax_m3(), minimax_m3(attention__indexer__block_size=0)

    assert on_host(chosen, "-c 2048") > on_host(chosen, "-c 2048", flash=False)
    assert on_host(chosen, "llama-server -c 2048") < on_host(chosen, "llama-server -c 2048 -np 4 -no-kvu")
    # A header that does not say how large a block of positions is leaves bounds by the widths of tensors.
    low, high = _interval(plain)
    assert high > 2 * low


def test_a_square_of_decays_is_reserved_for_one_sequence() -> None:
    """One of 512 tokens for each of two heads, not four of 128."""
    of_one, of_four = on_host(minimax_01(), "-c 2048"), on_host(minimax_01(), "-c 8192 -np 4")

    assert abs(of_one - of_four) < 4096


def test_every_stream_that_is_banked_stays() -> None:
    """One of 128 values a token is kept for each; joining them holds the bank twice for a moment."""
    once, thrice = on_host(kimi_k3(12), "-c 2048"), on_host(kimi_k3(3), "-c 2048")

    assert 2 * 512 * 128 * 4 <= thrice - once <= 2 * 3 * 512 * 128 * 4


def test_sequences_of_a_compressed_past_never_share_cells() -> None:
    """A server's four sequences have caches of the whole context each, where those of other families share one."""
    of_one, of_four = (
        emulated(deepseek4(), f"llama-server -c 4096 -ngl 0 {flags}", servers=0).rows[-1] for flags in ("-np 1", "")
    )
    apart = emulated(deepseek4(), "llama-server -c 16384 -ngl 0 -np 4", servers=0).rows[-1]

    assert 4 * of_one.cache_bytes == of_four.cache_bytes == apart.cache_bytes
    assert 4 * of_one.state_bytes == of_four.state_bytes


def _interval(inventory: Inventory) -> tuple[int, int]:
    words = ("llama-completion", "-m", "model.gguf", "-c", "2048", "-ngl", "0")
    run = emulate(profile_of(DEFAULT_BUILD), words, None, None, lambda _: inventory, compute_interval)
    found = run.rows[-1].compute_bytes
    assert found is not None
    return found

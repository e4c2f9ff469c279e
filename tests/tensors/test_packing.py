"""Parameters of quantised checkpoints: several in a stored value, none in scales and zero points."""

from __future__ import annotations

import json
from math import prod
from typing import TYPE_CHECKING

import pytest

from benchmarks.forge import MemoryFolder, safetensors
from tensors.packing import parameter_counts
from tensors.reader import read_from
from tensors.types import SAFETENSORS_BITS

if TYPE_CHECKING:
    from tensors import Inventory

OUT, IN, HIDDEN = 384, 256, 256
Q = "model.layers.0.self_attn.q_proj"
DOWN = "model.layers.0.mlp.down_proj"
WIDE = 1024

Rows = dict[str, tuple[str, list[int]]]


def checkpoint(rows: Rows, hidden: int | None = HIDDEN) -> Inventory:
    layout, end = {}, 0
    for name, (kind, shape) in rows.items():
        begin, end = end, end + prod(shape) * SAFETENSORS_BITS[kind] // 8
        layout[name] = (kind, shape, (begin, end))
    config = json.dumps({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": hidden}).encode()
    files = {"model.safetensors": safetensors(layout), "config.json": config}
    return read_from(MemoryFolder(files), None, allow_unknown_types=False)


def counts(rows: Rows, hidden: int | None = HIDDEN) -> dict[str, int]:
    inventory = checkpoint(rows, hidden)
    return dict(zip((tensor.name for tensor in inventory.tensors), parameter_counts(inventory), strict=True))


PACKED: dict[str, Rows] = {
    "GPTQ of 4 bits": {
        f"{Q}.qweight": ("I32", [IN // 8, OUT]),
        f"{Q}.qzeros": ("I32", [2, OUT // 8]),
        f"{Q}.scales": ("F16", [2, OUT]),
        f"{Q}.g_idx": ("I32", [IN]),
    },
    "GPTQ of 3 bits": {
        f"{Q}.qweight": ("I32", [IN * 3 // 32, OUT]),
        f"{Q}.qzeros": ("I32", [2, OUT * 3 // 32]),
        f"{Q}.scales": ("F16", [2, OUT]),
    },
    "GPTQ without zero points": {
        f"{Q}.qweight": ("I32", [IN // 4, OUT]),
        f"{Q}.scales": ("F16", [2, OUT]),
        f"{Q}.g_idx": ("I32", [IN]),
    },
    "AWQ": {
        f"{Q}.qweight": ("I32", [IN, OUT // 8]),
        f"{Q}.qzeros": ("I32", [2, OUT // 8]),
        f"{Q}.scales": ("F16", [2, OUT]),
    },
    "compressed-tensors with zero points": {
        f"{Q}.weight_packed": ("I32", [OUT, IN // 8]),
        f"{Q}.weight_scale": ("BF16", [OUT, 2]),
        f"{Q}.weight_zero_point": ("I32", [OUT // 8, 2]),
        f"{Q}.weight_shape": ("I64", [2]),
    },
    "compressed-tensors by the width of the model": {
        f"{Q}.weight_packed": ("I32", [OUT, IN // 8]),
        f"{Q}.weight_scale": ("BF16", [OUT, 2]),
        f"{Q}.weight_shape": ("I64", [2]),
    },
    "NVFP4 of compressed-tensors": {
        f"{Q}.weight_packed": ("U8", [OUT, IN // 2]),
        f"{Q}.weight_scale": ("F8_E4M3", [OUT, IN // 16]),
        f"{Q}.weight_global_scale": ("F32", [1]),
        f"{Q}.input_global_scale": ("F32", [1]),
    },
    "NVFP4": {
        f"{Q}.weight": ("U8", [OUT, IN // 2]),
        f"{Q}.weight_scale": ("F8_E4M3", [OUT, IN // 16]),
        f"{Q}.weight_scale_2": ("F32", []),
        f"{Q}.input_scale": ("F32", []),
    },
    "MXFP4 in bytes": {f"{Q}.weight": ("I8", [OUT, IN // 2]), f"{Q}.scale": ("F8_E8M0", [OUT, IN // 32])},
    "MXFP4 in blocks": {
        f"{Q}_blocks": ("U8", [OUT, IN // 32, 16]),
        f"{Q}_scales": ("U8", [OUT, IN // 32]),
    },
    "FP8": {f"{Q}.weight": ("F8_E4M3", [OUT, IN]), f"{Q}.weight_scale_inv": ("F32", [3, 2])},
    "values of 8 bits": {f"{Q}.weight": ("I8", [OUT, IN]), f"{Q}.weight_scale": ("BF16", [OUT, 1])},
    "bitsandbytes": {
        f"{Q}.weight": ("U8", [OUT * IN // 2, 1]),
        f"{Q}.weight.absmax": ("U8", [OUT * IN // 64]),
        f"{Q}.weight.quant_map": ("F32", [16]),
        f"{Q}.weight.nested_absmax": ("F32", [6]),
        f"{Q}.weight.quant_state.bitsandbytes__nf4": ("U8", [90]),
    },
    "MLX of 4 bits": {
        f"{Q}.weight": ("U32", [OUT, IN // 8]),
        f"{Q}.scales": ("BF16", [OUT, IN // 64]),
        f"{Q}.biases": ("BF16", [OUT, IN // 64]),
    },
    "MLX of 8 bits": {
        f"{Q}.weight": ("U32", [OUT, IN // 4]),
        f"{Q}.scales": ("BF16", [OUT, IN // 32]),
        f"{Q}.biases": ("BF16", [OUT, IN // 32]),
    },
}


@pytest.mark.parametrize("layout", sorted(PACKED))
def test_a_packed_matrix_counts_the_values_it_stands_for_and_nothing_beside_it(layout: str) -> None:
    first, *beside = PACKED[layout]

    assert {first: OUT * IN} | dict.fromkeys(beside, 0) == counts(PACKED[layout])


def test_mixed_bits_of_mlx_are_told_by_the_scales_of_each_matrix() -> None:
    rows = PACKED["MLX of 4 bits"] | {
        f"{DOWN}.weight": ("U32", [HIDDEN, WIDE * 6 // 32]),
        f"{DOWN}.scales": ("BF16", [HIDDEN, WIDE // 64]),
        f"{DOWN}.biases": ("BF16", [HIDDEN, WIDE // 64]),
    }

    assert HIDDEN * WIDE == counts(rows)[f"{DOWN}.weight"]


def test_packed_words_of_unknown_width_count_as_they_are_stored() -> None:
    for layout in ("MLX of 4 bits", "compressed-tensors by the width of the model"):
        first = next(iter(PACKED[layout]))
        assert OUT * IN // 8 == counts(PACKED[layout], hidden=None)[first]


def test_plain_tensors_count_their_values_whatever_their_names() -> None:
    rows: Rows = {
        f"{Q}.weight": ("BF16", [OUT, IN]),
        f"{Q}.scale": ("BF16", [OUT]),
        f"{Q}.scales": ("BF16", [4]),
        "model.position_ids": ("I64", [512]),
        "model.layers.0.mlp.router.scale": ("F32", [7]),
    }

    assert [OUT * IN, OUT, 4, 512, 7] == list(counts(rows).values())


def test_scales_that_do_not_divide_are_not_believed() -> None:
    rows: Rows = {
        f"{Q}.qweight": ("I32", [3, 5]),
        f"{Q}.qzeros": ("I32", [1, 7]),
        f"{Q}.scales": ("F16", [1, 11]),
        f"{DOWN}.qweight": ("I32", [3, 5]),
        f"{DOWN}.qzeros": ("I32", [0, 7]),
        f"{DOWN}.scales": ("F16", [1, 11]),
    }

    assert [15, 0, 0, 15, 0, 0] == list(counts(rows).values())

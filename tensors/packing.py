"""How many parameters a tensor stands for, where checkpoints keep several in one stored value.

GGUF types say it themselves. Quantised safetensors do not: a word holds eight values of 4 bits, and scales, zero points
and the like stand beside it as tensors that are no parameters. What is here goes by names, types and shapes:

* GPTQ, AWQ: `qweight` I32 with `scales` [groups, out] and `qzeros` packed like the weights; else `g_idx` [in]
* compressed-tensors: `weight_packed`, U8 of two FP4 values, or I32 with a zero point packed alike
* NVFP4, MXFP4: `weight` U8 or I8 of two values, one F8 scale for 16 or 32; `NAME_blocks` with `NAME_scales`
* bitsandbytes: `weight` U8 of two values beside its `quant_state`
* MLX and compressed-tensors without zero points: by the width of the model, which is how many values a row of the
  embedding, or of a projection out of the stream between blocks, has

Where none of it says more, a stored value counts as one parameter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensors.inventory import Inventory, Tensor

__all__ = ["parameter_counts"]

_WORDS = frozenset({"I32", "U32"})
_BYTES = frozenset({"U8", "I8"})
_WORD_BITS = 32
_WIDEST_PACKED_BITS = 8
_FP4_GROUPS = (16, 32)

_BESIDE = {
    "qweight": frozenset({"qzeros", "scales", "g_idx"}),
    "weight_packed": frozenset(
        {
            "weight_scale",
            "weight_zero_point",
            "weight_shape",
            "weight_global_scale",
            "weight_g_idx",
            "input_global_scale",
        }
    ),
    "weight": frozenset(
        {"weight_scale", "weight_scale_2", "weight_scale_inv", "weight_zero_point", "input_scale", "scale", "scales"}
        | {"biases", "SCB", "weight_format"}
    ),
}
_OWNERS = {
    leaf: tuple(owner for owner, leaves in _BESIDE.items() if leaf in leaves)
    for leaf in frozenset().union(*_BESIDE.values())
}
_QUANTISED = _WORDS | _BYTES
_QUANT_STATE = re.compile(r"(.+\.weight)\.(?:absmax|quant_map|nested_absmax|nested_quant_map|quant_state\.\w+)")
_FROM_STREAM = re.compile(r"(?:[qkv]|qkv|gate|up|gate_up|q_a|kv_a|in)_proj(?:_with_mqa)?|w[13]|embed_tokens|wte")


class _Packed(NamedTuple):
    """All tensors by name, and what the width of the model says of packing: MLX's group, and bits of packed words."""

    tensors: Mapping[str, Tensor]
    group_values: int | None
    bits: int | None


def parameter_counts(inventory: Inventory) -> tuple[int, ...]:
    """Return the parameters of every tensor in the order of the inventory; 0 for scales and zero points."""
    tensors = inventory.tensors
    if inventory.format != "safetensors" or not any(_may_pack(tensor.type) for tensor in tensors):
        return tuple(tensor.elements for tensor in tensors)
    by_name = {tensor.name: tensor for tensor in tensors}
    hidden = inventory.architecture.hidden_size
    packed = _Packed(by_name, _group_values(by_name, hidden), _word_bits(by_name, hidden))
    return tuple(_parameters(tensor, packed) for tensor in tensors)


def _may_pack(kind: str) -> bool:
    return kind in _QUANTISED or kind.startswith("F8")


def _parameters(tensor: Tensor, packed: _Packed) -> int:
    if _is_beside(tensor, packed.tensors):
        return 0
    stem, _, leaf = tensor.name.rpartition(".")
    if tensor.type in _WORDS:
        if leaf == "qweight":
            return _by_zero_points(tensor, stem, packed.tensors) or tensor.elements
        if leaf == "weight_packed":
            return _by_row_zero_points(tensor, stem, packed) or tensor.elements
        scales = packed.tensors.get(f"{stem}.scales")
        if leaf == "weight" and scales is not None and packed.group_values is not None:
            return scales.elements * packed.group_values
    elif tensor.type in _BYTES and _is_two_a_byte(tensor, stem, leaf, packed.tensors):
        return 2 * tensor.elements
    return tensor.elements


def _is_beside(tensor: Tensor, tensors: Mapping[str, Tensor]) -> bool:
    """Return whether a tensor serves the weights of another one: what it holds is no parameter."""
    name = tensor.name
    if name.endswith("_scales") and f"{name.removesuffix('_scales')}_blocks" in tensors:
        return True
    if ".weight." in name:
        state = _QUANT_STATE.fullmatch(name)
        return state is not None and state[1] in tensors
    stem, _, leaf = name.rpartition(".")
    owners = (tensors.get(f"{stem}.{owner}") for owner in _OWNERS.get(leaf, ()))
    return any(owner is not None and _may_pack(owner.type) for owner in owners)


def _by_zero_points(tensor: Tensor, stem: str, tensors: Mapping[str, Tensor]) -> int | None:
    """Return the values of `qweight`: zero points are packed as the weights are, and scales are not packed."""
    scales, zeros, order = (tensors.get(f"{stem}.{leaf}") for leaf in ("scales", "qzeros", "g_idx"))
    if scales is not None and zeros is not None:
        return _scaled(tensor.elements, scales.elements, zeros.elements)
    if order is not None and len(tensor.shape) == 2:  # noqa: PLR2004 (a matrix)
        return order.elements * tensor.shape[1]
    return None


def _by_row_zero_points(tensor: Tensor, stem: str, packed: _Packed) -> int | None:
    scales, zeros = (packed.tensors.get(f"{stem}.{leaf}") for leaf in ("weight_scale", "weight_zero_point"))
    if scales is not None and zeros is not None and zeros.type in _WORDS:
        return _scaled(tensor.elements, scales.elements, zeros.elements)
    return None if packed.bits is None else _scaled(tensor.elements, _WORD_BITS, packed.bits)


def _is_two_a_byte(tensor: Tensor, stem: str, leaf: str, tensors: Mapping[str, Tensor]) -> bool:
    if leaf == "weight_packed":
        return True
    if leaf.endswith("_blocks"):
        return f"{tensor.name.removesuffix('_blocks')}_scales" in tensors
    if leaf != "weight":
        return False
    if any(f"{tensor.name}.quant_state.bitsandbytes__{kind}" in tensors for kind in ("nf4", "fp4")):
        return True
    scales = tensors.get(f"{stem}.weight_scale") or tensors.get(f"{stem}.scale")
    if scales is None or not scales.type.startswith("F8"):
        return False
    return any(scales.elements * group == 2 * tensor.elements for group in _FP4_GROUPS)


def _group_values(tensors: Mapping[str, Tensor], hidden: int | None) -> int | None:
    """Return how many values share a scale of MLX: one number for all matrices of a model."""
    matrix = _out_of_stream(tensors, "weight")
    scales = None if matrix is None else tensors.get(f"{matrix.name.rpartition('.')[0]}.scales")
    if hidden is None or scales is None or not scales.shape:
        return None
    return _scaled(1, hidden, scales.shape[-1])


def _word_bits(tensors: Mapping[str, Tensor], hidden: int | None) -> int | None:
    """Return the bits of a value in the packed words of compressed-tensors."""
    matrix = _out_of_stream(tensors, "weight_packed")
    if hidden is None or matrix is None:
        return None
    bits = _scaled(_WORD_BITS, matrix.shape[-1], hidden)
    return bits if bits is not None and 0 < bits <= _WIDEST_PACKED_BITS else None


def _out_of_stream(tensors: Mapping[str, Tensor], leaf: str) -> Tensor | None:
    """Return a packed matrix whose rows are as wide as the model."""
    for name, tensor in tensors.items():
        stem, _, last = name.rpartition(".")
        if last == leaf and tensor.type in _WORDS and tensor.shape and _FROM_STREAM.fullmatch(stem.rpartition(".")[2]):
            return tensor
    return None


def _scaled(elements: int, numerator: int, denominator: int) -> int | None:
    if not denominator or elements * numerator % denominator:
        return None
    return elements * numerator // denominator

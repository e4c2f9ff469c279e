"""Bytes of a tensor by its type: elements and bytes of one block, as integers.

A block's bytes are written as the sum of the fields of its C struct. Sources:
https://github.com/ggml-org/llama.cpp/blob/aca2e6ce7909064dbfbf3bd168e9ad3db1826e6c/ggml/src/ggml-common.h
https://github.com/ggml-org/llama.cpp/blob/master/ggml/include/ggml.h (numbers of the types)
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GGML_TYPES", "BlockType", "tensor_bytes"]


@dataclass(frozen=True, slots=True)
class BlockType:
    """A storage type: `block_elements` consecutive values of a row take `block_bytes`; each row begins with `row_bytes` more."""

    name: str
    block_elements: int
    block_bytes: int
    row_bytes: int


def _type(name: str, block_elements: int, block_bytes: int, row_bytes: int = 0) -> BlockType:
    return BlockType(name, block_elements, block_bytes, row_bytes)


GGML_TYPES: dict[int, BlockType] = {
    0: _type("F32", 1, 4),
    1: _type("F16", 1, 2),
    2: _type("Q4_0", 32, 2 + 16),
    3: _type("Q4_1", 32, 2 + 2 + 16),
    6: _type("Q5_0", 32, 2 + 4 + 16),
    7: _type("Q5_1", 32, 2 + 2 + 4 + 16),
    8: _type("Q8_0", 32, 2 + 32),
    9: _type("Q8_1", 32, 2 + 2 + 32),
    10: _type("Q2_K", 256, 16 + 64 + 2 + 2),
    11: _type("Q3_K", 256, 32 + 64 + 12 + 2),
    12: _type("Q4_K", 256, 2 + 2 + 12 + 128),
    13: _type("Q5_K", 256, 2 + 2 + 12 + 32 + 128),
    14: _type("Q6_K", 256, 128 + 64 + 16 + 2),
    15: _type("Q8_K", 256, 4 + 256 + 32),
    16: _type("IQ2_XXS", 256, 2 + 64),
    17: _type("IQ2_XS", 256, 2 + 64 + 8),
    18: _type("IQ3_XXS", 256, 2 + 96),
    19: _type("IQ1_S", 256, 2 + 32 + 16),
    20: _type("IQ4_NL", 32, 2 + 16),
    21: _type("IQ3_S", 256, 2 + 64 + 8 + 32 + 4),
    22: _type("IQ2_S", 256, 2 + 64 + 8 + 8),
    23: _type("IQ4_XS", 256, 2 + 2 + 4 + 128),
    24: _type("I8", 1, 1),
    25: _type("I16", 1, 2),
    26: _type("I32", 1, 4),
    27: _type("I64", 1, 8),
    28: _type("F64", 1, 8),
    29: _type("IQ1_M", 256, 32 + 16 + 8),
    30: _type("BF16", 1, 2),
    34: _type("TQ1_0", 256, 48 + 4 + 2),
    35: _type("TQ2_0", 256, 64 + 2),
    39: _type("MXFP4", 32, 1 + 16),
    40: _type("NVFP4", 64, 4 + 32),
    41: _type("Q1_0", 128, 2 + 16),
    42: _type("Q2_0", 64, 2 + 16),
}
"""Types of GGUF files by number. Numbers that were removed (4, 5, 31, 32, 33, 36, 37, 38) are absent."""


def tensor_bytes(kind: BlockType, shape: tuple[int, ...]) -> int:
    """Return the bytes of a tensor whose rows are the last extent of `shape`; () is one value.

    Raises:
        ValueError: a row does not fill whole blocks.
    """
    row = shape[-1] if shape else 1
    if row % kind.block_elements:
        raise ValueError(f"rows of {row:,} values do not fill whole blocks of {kind.block_elements}")
    rows = 1
    for extent in shape[:-1]:
        rows *= extent
    return rows * (kind.row_bytes + row // kind.block_elements * kind.block_bytes)

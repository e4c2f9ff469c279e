"""Bytes of a tensor by its type: elements and bytes of one block, as integers.

A block's bytes are written as the sum of the fields of its C struct. Sources:

* https://github.com/ggml-org/llama.cpp/blob/aca2e6ce7909064dbfbf3bd168e9ad3db1826e6c/ggml/src/ggml-common.h
* https://github.com/ikawrakow/ik_llama.cpp/blob/1a4cfbcc537295fd2afdf02a1e7233f2d4361a46/gguf-py/gguf/constants.py and
  `row_meta_size` in ggml/src/ggml.c of the same project, for the numbers from 97 on
* https://github.com/huggingface/safetensors/blob/main/safetensors/src/tensor.rs (`Dtype::bitsize`)
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GGML_TYPES", "SAFETENSORS_BITS", "BlockType", "known_ggml_types", "tensor_bytes"]


@dataclass(frozen=True, slots=True)
class BlockType:
    """A storage type: `block_elements` consecutive values of a row take `block_bytes`.

    Every row begins with `row_bytes` more, the scale that some types keep a row.
    """

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
    # ik_llama.cpp; names that end in R4, R8 or R16 interleave rows and keep the size.
    97: _type("Q8_0_X4", 32, 2 + 32),
    98: _type("Q8_1_X4", 32, 2 + 2 + 32),
    99: _type("Q8_2_X4", 32, 2 + 2 + 32),
    133: _type("Q6_0", 32, 2 + 8 + 16),
    134: _type("IQ1_BN", 64, 12 + 1, row_bytes=2),
    135: _type("IQ2_BN", 64, 16, row_bytes=4),
    136: _type("Q8_K64", 64, 4 + 64),
    137: _type("IQ2_K", 256, 2 + 2 + 8 + 64),
    138: _type("IQ3_K", 256, 2 + 2 + 2 + 8 + 64 + 32),
    139: _type("IQ4_K", 256, 2 + 2 + 4 + 8 + 128),
    140: _type("IQ5_K", 256, 2 + 2 + 4 + 8 + 128 + 32),
    141: _type("IQ6_K", 256, 2 + 2 + 16 + 128 + 64),
    144: _type("IQ4_KS", 256, 8 + 128, row_bytes=4),
    145: _type("IQ2_KS", 256, 2 + 4 + 64, row_bytes=2),
    146: _type("IQ4_KSS", 256, 128, row_bytes=4),
    147: _type("Q8_K16", 64, 64, row_bytes=20),
    148: _type("Q8_K32", 256, 4 + 256 + 32),
    149: _type("Q8_KR8", 256, 4 + 256 + 32),
    150: _type("Q8_K128", 128, 4 + 128 + 8),
    151: _type("Q8_KV", 32, 32, row_bytes=8),
    152: _type("IQ5_KS", 256, 8 + 128 + 32, row_bytes=4),
    153: _type("IQ2_KT", 256, 4 + 64, row_bytes=4),
    154: _type("IQ3_KT", 256, 4 + 64 + 32, row_bytes=4),
    155: _type("IQ4_KT", 256, 128, row_bytes=4),
    156: _type("IQ3_KS", 256, 2 + 4 + 64 + 32, row_bytes=2),
    157: _type("IQ2_KL", 256, 2 + 4 + 64 + 16, row_bytes=2),
    158: _type("IQ1_KT", 256, 8 + 32 + 16, row_bytes=4),
    202: _type("Q4_0_R8", 32, 2 + 16),
    206: _type("Q5_0_R4", 32, 2 + 4 + 16),
    208: _type("Q8_0_R8", 32, 2 + 32),
    210: _type("Q2_K_R4", 256, 16 + 64 + 2 + 2),
    211: _type("Q3_K_R4", 256, 32 + 64 + 12 + 2),
    212: _type("Q4_K_R4", 256, 2 + 2 + 12 + 128),
    213: _type("Q5_K_R4", 256, 2 + 2 + 12 + 32 + 128),
    214: _type("Q6_K_R4", 256, 128 + 64 + 16 + 2),
    216: _type("IQ2_XXS_R4", 256, 2 + 64),
    217: _type("IQ2_XS_R4", 256, 2 + 64 + 8),
    218: _type("IQ3_XXS_R4", 256, 2 + 96),
    219: _type("IQ1_S_R4", 32, 4 + 2, row_bytes=2),
    220: _type("IQ4_NL_R4", 32, 2 + 16),
    221: _type("IQ3_S_R4", 256, 2 + 64 + 8 + 32 + 4),
    222: _type("IQ2_S_R4", 256, 2 + 64 + 8 + 8),
    223: _type("IQ4_XS_R8", 256, 2 + 2 + 4 + 128),
    229: _type("IQ1_M_R4", 32, 4 + 2 + 1, row_bytes=2),
    230: _type("BF16_R16", 1, 2),
    233: _type("Q6_0_R4", 32, 2 + 8 + 16),
    335: _type("IQ2_BN_R4", 64, 16, row_bytes=4),
    337: _type("IQ2_K_R4", 256, 2 + 2 + 8 + 64),
    338: _type("IQ3_K_R4", 256, 2 + 2 + 2 + 8 + 64 + 32),
    339: _type("IQ4_K_R4", 256, 2 + 2 + 4 + 8 + 128),
    340: _type("IQ5_K_R4", 256, 2 + 2 + 4 + 8 + 128 + 32),
    344: _type("IQ4_KS_R4", 256, 8 + 128, row_bytes=4),
    352: _type("IQ5_KS_R4", 256, 8 + 128 + 32, row_bytes=4),
    398: _type("Q8_KV_R8", 32, 32, row_bytes=4),
    399: _type("Q8_K_R8", 256, 2 + 256),
}
"""Types of GGUF files by number. Numbers that were removed (4, 5, 31, 32, 33, 36, 37, 38) are absent."""

SAFETENSORS_BITS: dict[str, int] = {
    "BOOL": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E5M2FNUZ": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E8M0": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "C64": 64,
    "F64": 64,
    "I64": 64,
    "U64": 64,
}
"""Bits of one value by the name of its type in a safetensors header."""


_MAINLINE_END = 97


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


def known_ggml_types() -> str:
    """Return the ranges of known numbers, for a message about one that is not."""
    mainline = max(number for number in GGML_TYPES if number < _MAINLINE_END)
    return f"0 to {mainline}, and {_MAINLINE_END} to {max(GGML_TYPES)} of ik_llama.cpp, each with gaps"

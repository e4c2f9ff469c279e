"""Which type each tensor of a quantised file has, as data."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensors.synthetic.layouts import Piece

__all__ = ["BF16", "Q4_K_M", "Q8_0", "UD_IQ2_XXS", "Heavier", "Mix"]

_ALWAYS_F32 = frozenset({"ffn_gate_inp", "indexer.proj"})


@dataclass(frozen=True, slots=True)
class Heavier:
    """Types of some kinds in some blocks instead of the mix's own; block numbers below 0 count from the last block."""

    blocks: tuple[int, ...]
    types: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Mix:
    """Types by kind of tensor, with exceptions for single blocks. Vectors, routers and the like are always F32.

    `more_bits` are the kinds that get `more_bits_type` in those blocks which llama.cpp quantises less.
    """

    name: str
    default: str
    types: Mapping[str, str]
    heavier: tuple[Heavier, ...] = ()
    more_bits: frozenset[str] = frozenset()
    more_bits_type: str = ""

    def type_of(self, piece: Piece, blocks: int) -> str:
        """Return the type of a tensor in a model of so many blocks."""
        if len(piece.shape) == 1 or piece.kind in _ALWAYS_F32:
            return "F32"
        if piece.block is not None:
            for exception in self.heavier:
                if piece.kind in exception.types and {piece.block, piece.block - blocks} & set(exception.blocks):
                    return exception.types[piece.kind]
            if piece.kind in self.more_bits and _gets_more_bits(piece.block, blocks):
                return self.more_bits_type
        return self.types.get(piece.kind, self.default)


def _gets_more_bits(block: int, blocks: int) -> bool:
    """Return whether a block is in the first or last eighth, or every third between (use_more_bits of llama.cpp)."""
    eighth = blocks // 8
    return block < eighth or block >= 7 * blocks // 8 or (block - eighth) % 3 == 2  # noqa: PLR2004 (the third of three)


BF16 = Mix("BF16", "BF16", MappingProxyType({}))

Q8_0 = Mix("Q8_0", "Q8_0", MappingProxyType({}))

Q4_K_M = Mix(
    "Q4_K_M",
    "Q4_K",
    MappingProxyType({"output": "Q6_K"}),
    more_bits=frozenset({"attn_v", "ffn_down"}),
    more_bits_type="Q6_K",
)

UD_IQ2_XXS = Mix(
    "UD-IQ2_XXS",
    "Q8_0",
    MappingProxyType(
        {
            "token_embd": "Q4_K",
            "output": "Q4_K",
            "attn_q_a": "Q5_K",
            "attn_output": "Q5_K",
            "ffn_down": "Q6_K",
            "ffn_gate": "Q5_K",
            "ffn_up": "Q5_K",
            "ffn_down_shexp": "Q6_K",
            "ffn_gate_shexp": "Q5_K",
            "ffn_up_shexp": "Q5_K",
            "ffn_down_exps": "IQ3_XXS",
            "ffn_gate_exps": "IQ2_XXS",
            "ffn_up_exps": "IQ2_XXS",
        }
    ),
    heavier=(
        Heavier(
            (8,),
            MappingProxyType(
                {
                    "attn_q_a": "Q6_K",
                    "attn_output": "Q6_K",
                    "ffn_down_shexp": "Q8_0",
                    "ffn_gate_shexp": "Q6_K",
                    "ffn_up_shexp": "Q6_K",
                    "ffn_down_exps": "IQ4_XS",
                    "ffn_gate_exps": "IQ2_S",
                    "ffn_up_exps": "IQ2_S",
                }
            ),
        ),
        Heavier((-4, -3, -2), MappingProxyType({"ffn_down_exps": "IQ4_XS"})),
        Heavier((-1,), MappingProxyType({"ffn_down_exps": "Q3_K", "ffn_gate_exps": "Q2_K", "ffn_up_exps": "Q2_K"})),
    ),
)

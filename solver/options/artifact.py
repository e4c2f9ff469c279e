"""What a repository offers: one model in one form, with what of its shape decides how it can be served."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from solver.options.quantisation import bits_of

__all__ = ["GGUF", "SAFETENSORS", "Artifact", "Shape"]

GGUF: Final = "gguf"
SAFETENSORS: Final = "safetensors"

_BITS_A_BYTE = 8


@dataclass(frozen=True, slots=True)
class Shape:
    """Cache bytes a token of the whole model, heads of keys and values, parameters; for the last two 0 is unknown."""

    cache_bytes_per_token: int
    kv_heads: int
    parameters: int


@dataclass(frozen=True, slots=True)
class Artifact:
    """One file, split set or checkpoint. `quant` is "" where neither header nor name says it."""

    name: str
    format: str
    size_bytes: int
    shards: int
    quant: str
    shape: Shape

    @property
    def bits_per_weight(self) -> Fraction | None:
        """Return the bits of a weight: exact where the parameters are known, else by the name, else None."""
        if self.shape.parameters > 0:
            return Fraction(self.size_bytes * _BITS_A_BYTE, self.shape.parameters)
        return bits_of(self.quant)

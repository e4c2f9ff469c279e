"""Quantisations as names of files say them, and how many bits a weight has by the name alone."""

from __future__ import annotations

import re
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TABLE_BITS", "bits_of", "quant_of"]

# Types and mixes of llama.cpp (ggml.h, llama.h: LLAMA_FTYPE_*) and of ik_llama.cpp, whose repacked types end in _R and
# a number; the longer of two names that begin alike stands first.
_NAME: Final = re.compile(
    r"""(?<![A-Z0-9])(?:
        IQ[1-9]_(?:XXS|XS|NL|KSS|KS|KT|KL|KV|BN|[SMLK])(?:_R[0-9]+)?
      | TQ[12]_[0-9](?:_R[0-9]+)?
      | Q[1-9]_K(?:_(?:XXL|XL|[SML]))?(?:_R[0-9]+)?
      | Q[1-9]_KV(?:_R[0-9]+)?
      | Q4_0_[48]_[48]
      | Q[1-9]_[0-9](?:_R[0-9]+)?
      | Q[1-9]
      | IQ[1-9]
      | MXFP[468](?:_MOE)?
      | NVFP4
      | BF16(?:_R16)?
      | FP?16
      | FP?32
      | F64
      | FP[48]
    )(?![A-Z0-9])""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_LONGEST_NAME: Final = 4096

TABLE_BITS: Final[Mapping[str, Fraction]] = MappingProxyType(
    {
        name: Fraction(bits)
        for name, bits in (
            ("F32", "32"),
            ("F16", "16"),
            ("BF16", "16"),
            ("FP16", "16"),
            ("Q8_0", "8.5"),
            ("Q6_K", "6.6"),
            ("Q5_K_M", "5.7"),
            ("Q5_K_S", "5.5"),
            ("Q5_0", "5.5"),
            ("Q5_1", "6"),
            ("Q4_K_M", "4.8"),
            ("Q4_K_S", "4.6"),
            ("Q4_0", "4.5"),
            ("Q4_1", "5"),
            ("IQ4_XS", "4.3"),
            ("IQ4_NL", "4.5"),
            ("Q3_K_L", "4.3"),
            ("Q3_K_M", "3.9"),
            ("Q3_K_S", "3.5"),
            ("IQ3_M", "3.7"),
            ("IQ3_XS", "3.3"),
            ("IQ3_XXS", "3.1"),
            ("Q2_K", "3.0"),
            ("IQ2_M", "2.7"),
            ("IQ2_XS", "2.3"),
            ("IQ2_XXS", "2.1"),
            ("IQ1_M", "1.8"),
            ("IQ1_S", "1.6"),
        )
    }
)
"""Usual bits a weight of the common mixes, rounded: for names alone, where nothing says how many weights there are."""


def quant_of(name: str) -> str:
    """Return the last quantisation that a name says, in upper case; "" where it says none."""
    found = [match[0] for match in _NAME.finditer(name[-_LONGEST_NAME:])]
    return found[-1].upper() if found else ""


def bits_of(quant: str) -> Fraction | None:
    """Return the usual bits a weight of a quantisation by its name; None where the table has none: no guess."""
    return TABLE_BITS.get(quant.upper())

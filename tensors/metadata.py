"""What headers and config files say besides tensors, as values that are safe to hand on.

The readers build these and pass them to `tensors.architecture` by two calls:

    architecture.from_gguf(metadata: Metadata, tensors: Shapes) -> Architecture
    architecture.from_config(config: Config, tensors: Shapes) -> Architecture

Both take untrusted values of any allowed type under any key. Neither raises: what a header does not say, or says with a
wrong type or beyond `MAXIMUM_BLOCKS`, is None, a count taken from the tensors' names, or a `MissingFact`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

__all__ = [
    "MAXIMUM_BLOCKS",
    "MAXIMUM_TUPLE",
    "ArraySummary",
    "Config",
    "ConfigValue",
    "Metadata",
    "MetadataValue",
    "Shapes",
]

MAXIMUM_BLOCKS = 4096
"""Blocks numbered from here on are no blocks of a model: bounds what a hostile count can make us allocate."""

MAXIMUM_TUPLE = 1024
"""Arrays of a GGUF header up to this length are handed over whole (per-block counts), longer ones as a summary."""


@dataclass(frozen=True, slots=True)
class ArraySummary:
    """An array of a GGUF header that was skipped, not decoded: vocabularies, scores, merges, nested arrays.

    `element_type` is the format's name in lower case: uint8, int8, uint16, int16, uint32, int32, float32, bool, string,
    array, uint64, int64, float64.
    """

    element_type: str
    length: int


MetadataValue: TypeAlias = (
    int | float | bool | str | tuple[int, ...] | tuple[float, ...] | tuple[bool, ...] | tuple[str, ...] | ArraySummary
)
"""One value of a GGUF header. Arrays of at most MAXIMUM_TUPLE scalars are tuples; longer ones and every array under
`tokenizer.` are an ArraySummary, and so are a string above 64 KiB (of length 1) and what exceeds 1 MiB in all."""

Metadata: TypeAlias = Mapping[str, MetadataValue]
"""Keys of all parts of a split GGUF set, the first part's first: `general.architecture`, `glm-dsa.block_count`, …"""

ConfigValue: TypeAlias = "bool | int | float | str | list[ConfigValue] | dict[str, ConfigValue] | None"
"""One JSON value of a config.json; nesting is bounded by the reader."""

Config: TypeAlias = Mapping[str, ConfigValue]
"""A whole config.json as it stands in the file; `text_config` and the like are not yet followed."""

Shapes: TypeAlias = Mapping[str, tuple[int, ...]]
"""Tensor names as the files spell them, with shapes outermost first. May be empty."""

"""What a model is built of: read from the keys of a GGUF header or from a config.json, by rules kept as tables."""

from __future__ import annotations

from tensors.architecture.agreement import disagreements
from tensors.architecture.config import from_config
from tensors.architecture.facts import Architecture, Experts, MissingFact
from tensors.architecture.gguf import from_gguf

__all__ = ["Architecture", "Experts", "MissingFact", "disagreements", "from_config", "from_gguf"]

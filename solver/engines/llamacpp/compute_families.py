"""What is known of families beyond their tensors, for the graphs of `compute_blocks`."""

from __future__ import annotations

from typing import Final

__all__ = ["COMPARED", "NOT_UNDERSTOOD"]

COMPARED: Final = frozenset(
    ["afmoe", "bailingmoe2", "bloom", "cohere2", "command-r", "dbrx", "deci", "deepseek2", "deepseek32", "exaone4", "falcon", "falcon-h1", "gemma", "gemma3", "glm-dsa", "glm4moe", "gpt-oss", "gpt2", "granitehybrid", "grok", "hunyuan-moe", "jamba", "kimi-linear", "lfm2", "lfm2moe", "llama", "llama4", "mamba", "mamba2", "maple", "minicpm3", "minimax-m2", "mistral3", "mistral4", "nemotron_h", "nemotron_h_moe", "olmo2", "phi3", "qwen2", "qwen3", "qwen35", "qwen35moe", "qwen3moe", "starcoder2"]
)
"""Families whose simulated buffers were compared with those of runs, and are the same to the byte but for oddities."""

NOT_UNDERSTOOD: Final = frozenset({"deepseek4", "minimax-01", "qwen4exp"})
"""Families with parts that no graph here has."""

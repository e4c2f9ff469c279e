"""What headers of GGUF files say, as architectures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensors.architecture import Architecture, from_gguf

if TYPE_CHECKING:
    from tensors.metadata import MetadataValue

__all__ = ["LATENT", "LLAMA", "MAMBA", "header"]

LLAMA: dict[str, MetadataValue] = {
    "block_count": 4,
    "context_length": 8192,
    "embedding_length": 512,
    "attention.head_count": 8,
    "attention.head_count_kv": 2,
    "attention.key_length": 64,
    "attention.value_length": 64,
}
LATENT: dict[str, MetadataValue] = {
    "block_count": 4,
    "context_length": 4096,
    "embedding_length": 512,
    "attention.head_count": 8,
    "attention.head_count_kv": 1,
    "attention.key_length": 576,
    "attention.value_length": 512,
    "attention.key_length_mla": 192,
    "attention.value_length_mla": 128,
}


def header(family: str, keys: dict[str, MetadataValue], **more: MetadataValue) -> Architecture:
    """Return the architecture of a header; keyword `a__b` is key `a.b`."""
    metadata: dict[str, MetadataValue] = {"general.architecture": family}
    metadata.update({f"{family}.{key}": value for key, value in keys.items()})
    metadata.update({f"{family}.{key.replace('__', '.')}": value for key, value in more.items()})
    return from_gguf(metadata, {})


MAMBA: dict[str, MetadataValue] = {
    "ssm__conv_kernel": 4,
    "ssm__inner_size": 256,
    "ssm__state_size": 64,
    "ssm__group_count": 2,
    "ssm__time_step_rank": 4,
}

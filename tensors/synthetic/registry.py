"""The models that can be written, as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from tensors.synthetic.mixes import BF16, Q4_K_M, Q8_0, UD_IQ2_XXS
from tensors.synthetic.shapes import GroupedShape, LatentExpertShape, MixtureShape

if TYPE_CHECKING:
    from tensors.synthetic.mixes import Mix

__all__ = ["MODELS", "Model"]


@dataclass(frozen=True, slots=True)
class Model:
    """A model that can be written: a mixture shape as safetensors, the others as GGUF.

    `file_name` is the stem of its files, which hold at most `part_bytes` of tensors each; 0 means one file.
    """

    name: str
    description: str
    file_name: str
    shape: GroupedShape | LatentExpertShape | MixtureShape
    mix: Mix
    part_bytes: int


_GLM_5_2 = LatentExpertShape(
    trunk_blocks=78,
    nextn_blocks=1,
    dense_blocks=3,
    hidden=6144,
    feed_forward=12288,
    expert_feed_forward=2048,
    heads=64,
    query_rank=2048,
    latent_rank=512,
    nope=192,
    rope=64,
    value_width=256,
    experts=256,
    experts_used=8,
    experts_shared=1,
    index_heads=32,
    index_width=128,
    index_topk=2048,
    vocabulary=154880,
    context=1048576,
)

_TINY_EXPERTS = LatentExpertShape(
    trunk_blocks=6,
    nextn_blocks=1,
    dense_blocks=1,
    hidden=512,
    feed_forward=1024,
    expert_feed_forward=256,
    heads=4,
    query_rank=256,
    latent_rank=256,
    nope=96,
    rope=32,
    value_width=128,
    experts=8,
    experts_used=2,
    experts_shared=1,
    index_heads=4,
    index_width=64,
    index_topk=64,
    vocabulary=2048,
    context=4096,
)

_TINY = GroupedShape(
    blocks=8,
    hidden=256,
    feed_forward=768,
    heads=4,
    kv_heads=2,
    head_width=64,
    vocabulary=2048,
    context=4096,
    tied=False,
    rope_frequencies=False,
)

_LLAMA_1B = GroupedShape(
    blocks=16,
    hidden=2048,
    feed_forward=8192,
    heads=32,
    kv_heads=8,
    head_width=64,
    vocabulary=128256,
    context=131072,
    tied=True,
    rope_frequencies=True,
)

_LLAMA_70B = GroupedShape(
    blocks=80,
    hidden=8192,
    feed_forward=28672,
    heads=64,
    kv_heads=8,
    head_width=128,
    vocabulary=128256,
    context=131072,
    tied=False,
    rope_frequencies=True,
)

_MIXTRAL = MixtureShape(
    blocks=32,
    hidden=4096,
    feed_forward=14336,
    heads=32,
    kv_heads=8,
    head_width=128,
    vocabulary=32000,
    context=32768,
    experts=8,
    experts_used=2,
)

# llama-quant.cpp: a tied embedding has the head's type, and 70B models give their shared V matrices one bit more.
_Q4_K_M_TIED = replace(Q4_K_M, types=MappingProxyType({"token_embd": "Q6_K"}))
_Q4_K_M_70B = replace(Q4_K_M, types=MappingProxyType({"output": "Q6_K", "attn_v": "Q5_K"}))

MODELS = MappingProxyType(
    {
        model.name: model
        for model in (
            Model(
                "glm-5.2",
                "experts, latent attention, indexers and a nextn block in a mix of 2 to 8 bits, six parts, 222 GiB",
                "GLM-5.2-UD-IQ2_XXS",
                _GLM_5_2,
                UD_IQ2_XXS,
                50_000_000_000,
            ),
            Model(
                "llama-3.1-70b",
                "a dense model with grouped attention in Q4_K_M, 40 GiB",
                "Llama-3.1-70B-Q4_K_M",
                _LLAMA_70B,
                _Q4_K_M_70B,
                0,
            ),
            Model(
                "llama-3.2-1b",
                "a small dense model with a tied head in Q4_K_M, 0.7 GiB",
                "Llama-3.2-1B-Q4_K_M",
                _LLAMA_1B,
                _Q4_K_M_TIED,
                0,
            ),
            Model(
                "mixtral-8x7b",
                "a mixture of 8 experts as a sharded safetensors checkpoint in BF16, 87 GiB",
                "model",
                _MIXTRAL,
                BF16,
                5_000_000_000,
            ),
            Model("tiny", "a dense model of a few MiB in Q8_0", "tiny-Q8_0", _TINY, Q8_0, 0),
            Model(
                "tiny-experts",
                "the parts of glm-5.2 in a few MiB, Q8_0, in several files",
                "tiny-experts-Q8_0",
                _TINY_EXPERTS,
                Q8_0,
                12_000_000,
            ),
        )
    }
)

"""Models and clusters for serving engines, small enough to check by hand or real in every matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from solver.cluster_file import parse_cluster
from solver.workload import IndexerRule, Workload
from tensors.architecture import Architecture
from tensors.architecture.terms import full
from tensors.inventory import Inventory, Part, Role, Tensor

if TYPE_CHECKING:
    from solver.cluster import Cluster
    from tensors.cache import CacheTerm

REQUEST = Workload(
    context_tokens=8192,
    sequences=1,
    cache_type_k="bf16",
    cache_type_v="bf16",
    indexer=IndexerRule.CONSERVATIVE,
    resident_nextn=False,
    cache_bytes_per_token=None,
)


def tensor(name: str, shape: tuple[int, ...], value_bytes: int, part: Part, role: Role, block: int | None) -> Tensor:
    """Return a tensor of so many bytes a value."""
    size = value_bytes
    for extent in shape:
        size *= extent
    return Tensor(name, shape, "BF16" if value_bytes == 2 else "F8_E4M3", size, 0, 0, part, role, block)


def model(tensors: tuple[Tensor, ...], cache: tuple[CacheTerm, ...], blocks: int, **facts: object) -> Inventory:
    """Return a model of these tensors; `facts` replace those of its architecture."""
    architecture = Architecture(
        family="served",
        trunk_blocks=blocks,
        nextn_blocks=0,
        hidden_size=64,
        vocabulary_size=None,
        context_tokens=131072,
        heads=None,
        experts=None,
        index_topk=None,
        index_block_tokens=None,
        banked_every=None,
        full_indexer_blocks=(),
        tied=False,
        cache=cache,
    )
    return Inventory(
        name="Served",
        format="safetensors",
        files=(),
        tensors=tensors,
        trunk_blocks=blocks,
        nextn_blocks=0,
        tied=False,
        architecture=replace(architecture, **facts),  # type: ignore[arg-type]
        header_sha256="0" * 64,
        notes=(),
    )


def llama_70b_fp8() -> Inventory:
    """Return Llama 70B with its matrices in 8 bits; norms, embedding and head stay in 16."""
    hidden, wide, heads, kv_heads, width, vocabulary, blocks = 8192, 28672, 64, 8, 128, 128256, 80
    matrices = {
        "self_attn.q_proj": (heads * width, hidden),
        "self_attn.k_proj": (kv_heads * width, hidden),
        "self_attn.v_proj": (kv_heads * width, hidden),
        "self_attn.o_proj": (hidden, heads * width),
        "mlp.gate_proj": (wide, hidden),
        "mlp.up_proj": (wide, hidden),
        "mlp.down_proj": (hidden, wide),
    }
    tensors = [tensor("model.embed_tokens.weight", (vocabulary, hidden), 2, Part.INPUT, Role.EMBEDDING, None)]
    for block in range(blocks):
        for name, shape in matrices.items():
            role = Role.ATTENTION if name.startswith("self") else Role.FEED_FORWARD
            tensors.append(tensor(f"model.layers.{block}.{name}.weight", shape, 1, Part.TRUNK, role, block))
        tensors.extend(
            tensor(f"model.layers.{block}.{name}.weight", (hidden,), 2, Part.TRUNK, Role.NORM, block)
            for name in ("input_layernorm", "post_attention_layernorm")
        )
    tensors.append(tensor("model.norm.weight", (hidden,), 2, Part.HEAD, Role.NORM, None))
    tensors.append(tensor("lm_head.weight", (vocabulary, hidden), 2, Part.HEAD, Role.OUTPUT, None))
    cache = tuple(full(block, kv_heads, width, width) for block in range(blocks))
    return model(
        tuple(tensors),
        cache,
        blocks,
        hidden_size=hidden,
        vocabulary_size=vocabulary,
        heads=heads,
    )


def small_model(blocks: int = 4, kv_heads: int = 2, *, tied: bool = False) -> Inventory:
    """Return blocks of 1 MiB of feed-forward, keys and values of 16 values a head, and ends of 64 by 64 values."""
    ends = [tensor("model.embed_tokens.weight", (64, 64), 2, Part.INPUT, Role.EMBEDDING, None)]
    if not tied:
        ends.append(tensor("lm_head.weight", (64, 64), 2, Part.HEAD, Role.OUTPUT, None))
    trunk = [
        tensor(f"model.layers.{block}.mlp.up_proj.weight", (8192, 64), 2, Part.TRUNK, Role.FEED_FORWARD, block)
        for block in range(blocks)
    ]
    cache = tuple(full(block, kv_heads, 16, 16) for block in range(blocks))
    return replace(model((*ends, *trunk), cache, blocks, heads=4), tied=tied)


def cards(*groups: tuple[str, int, str], reserve: str = "0.1", links: str = "") -> Cluster:
    """Return machines of (name, cards, memory of one card)."""
    nodes = "".join(
        f'[[node]]\nname = "{name}"\nmemory = "64 GiB"\n'
        f'gpu = [{{ class = "card", memory = "{memory}", count = {count} }}]\n'
        for name, count, memory in groups
    )
    return parse_cluster(f"[reserve.gpu]\nfraction = {reserve}\n{nodes}{links}", "cards.toml")

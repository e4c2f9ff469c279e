"""Pools and artifacts for tests of options: the golden pool, and small records with few words."""

from __future__ import annotations

from solver.options import Artifact, PoolNode, Shape

__all__ = ["GOLDEN_ARTIFACTS", "GOLDEN_NODES", "GOLDEN_SHAPE", "artifact", "cpu_node", "gpu_node", "pool_document"]

_GB = 10**9

GOLDEN_SHAPE = Shape(cache_bytes_per_token=327_680, kv_heads=8, parameters=70_553_706_496)


def artifact(
    name: str, size_bytes: int, *, form: str = "gguf", quant: str = "", shape: Shape = GOLDEN_SHAPE
) -> Artifact:
    """Return an artifact in one file."""
    return Artifact(name=name, format=form, size_bytes=size_bytes, shards=1, quant=quant, shape=shape)


def gpu_node(
    name: str,
    label: str,
    card_gb: int,
    gpus: int,
    *,
    free: int | None = None,
    fabric: str = "",
    host_gb: int = 0,
    host_free_gb: int | None = 0,
) -> PoolNode:
    """Return a node with cards; all of them are free unless `free` says how many."""
    return PoolNode(
        name=name,
        gpu_class=label,
        fabric=fabric,
        gpu_memory_bytes=card_gb * _GB,
        gpus=gpus,
        free_gpus=gpus if free is None else free,
        host_memory_bytes=host_gb * _GB,
        host_free_bytes=None if host_free_gb is None else host_free_gb * _GB,
    )


def cpu_node(name: str, host_gb: int, free_gb: int | None) -> PoolNode:
    """Return a node without cards."""
    return gpu_node(name, "", 0, 0, host_gb=host_gb, host_free_gb=free_gb)


GOLDEN_NODES = (
    gpu_node("n1", "h100-80g", 80, 2, free=0, fabric="ib0", host_gb=512, host_free_gb=40),
    gpu_node("n2", "h100-80g", 80, 2, free=2, fabric="ib0", host_gb=512, host_free_gb=400),
    gpu_node("n3", "rtx-4090-24g", 24, 4, free=4, host_gb=128, host_free_gb=100),
    cpu_node("n4", 256, 200),
)

GOLDEN_ARTIFACTS = (
    artifact("Q4_K_M", 42_520_000_000),
    artifact("Q8_0", 74_975_000_000),
    artifact("Q6_K", 57_888_000_000),
    artifact("BF16", 141_117_000_000),
    artifact("safetensors", 141_107_000_000, form="safetensors", quant="bf16"),
)


def pool_document() -> dict[str, object]:
    """Return the golden pool as a document."""
    return {
        "schema": "layerfit/pool/1",
        "context": 8192,
        "shape": {"kv_bytes_per_token": 327_680, "kv_heads": 8, "params": 70_553_706_496},
        "artifacts": [
            {"name": one.name, "format": one.format, "bytes": one.size_bytes, "shards": 1} for one in GOLDEN_ARTIFACTS
        ],
        "nodes": [
            {
                "id": node.name,
                "class": node.gpu_class,
                "fabric": node.fabric,
                "gpu_mem_gb": node.gpu_memory_bytes // _GB,
                "gpus": node.gpus,
                "free_gpus": node.free_gpus,
                "host_mem_gb": node.host_memory_bytes // _GB,
                "host_free_gb": None if node.host_free_bytes is None else node.host_free_bytes // _GB,
            }
            for node in GOLDEN_NODES
        ],
    }

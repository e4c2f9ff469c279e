"""vLLM: weights in ranks, pages of cache in what the ranks have left, as many pages as the weakest rank has room for.

The engine takes one share of every card (`--gpu-memory-utilization`). Inside it are weights, what a step of the largest
size needs, and pages; the context of the driver, which is there before, is outside (vllm/v1/worker/gpu_worker.py).
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from solver.engines.servers.build import Ingredients, ServedProblem, placed_blocks, served_problem
from solver.engines.servers.cards import least_share, rank_devices
from solver.engines.servers.layers import cache_layers
from solver.engines.servers.pages import paged_pool
from solver.engines.servers.partition import extra_before_the_last
from solver.engines.servers.pool import Request
from solver.engines.servers.profile import ServerProfile, ServerSettings, for_model
from solver.engines.servers.sharding import check_width
from solver.workload import EngineName
from tensors.inventory import Role
from tensors.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.cluster import Cluster
    from solver.engines.servers.cards import RankDevice, Share
    from solver.problem import Rules
    from solver.workload import Workload
    from tensors.inventory import Inventory, Tensor

__all__ = ["PROFILE", "overhead_terms", "vllm"]

PROFILE = ServerProfile(
    engine=EngineName.VLLM,
    build="0.28",
    share_name="--gpu-memory-utilization",
    share_steps=10_000,
    page_tokens=16,
    vocabulary_multiple=64,
    batched_tokens=2048,
    running_sequences=256,
    default_partition=extra_before_the_last,
)

# 320 to 460 MiB are what contexts of the driver take of a card.
_CONTEXT_BYTES = 460 * 2**20
_VALUE_BYTES = 2
_LOGIT_BYTES = 4
# Hidden states that live at the same time, widths of the feed-forward that do, and copies of the logits that sampling
# makes. Workspaces of attention kernels, graphs of the usual batch sizes, and buffers of collectives between cards.
# All are upper ends by judgement, not measurements; docs/servers.md says what they were held against.
_HIDDEN_COPIES, _FEED_FORWARD_COPIES, _LOGIT_COPIES = 6, 3, 4
_WORKSPACE_BYTES, _GRAPH_BYTES, _COLLECTIVE_BYTES = 512 * 2**20, 2**30, 512 * 2**20


def vllm(
    inventory: Inventory, cluster: Cluster, workload: Workload, rules: Rules, settings: ServerSettings | None = None
) -> ServedProblem:
    """Return the problem of cutting a model into vLLM's ranks.

    Raises:
        ArchitectureError: the cache cannot be sized, and the workload does not give its bytes.
        InputError: the model has no blocks, the cluster no card, or model, width and cache do not go together.
    """
    chosen = for_model(PROFILE.settings() if settings is None else settings, inventory)
    placed = placed_blocks(inventory, workload)
    check_width(inventory, chosen.width)
    devices, notes = rank_devices(cluster, chosen.width, frozenset(rules.exclude))
    layers = cache_layers(inventory, workload, EngineName.VLLM, placed, chosen.width)
    request = Request(workload.context_tokens, workload.sequences, chosen.batched_tokens)
    terms = overhead_terms(inventory, chosen, ranks=len(devices))
    overhead_bytes = sum(terms.values()) if chosen.overhead_bytes is None else chosen.overhead_bytes
    if chosen.overhead_bytes is None:
        listed = ", ".join(f"{name} {format_bytes(size)}" for name, size in terms.items() if size)
        notes.append(f"Beside weights and cache, an upper estimate for every card: {listed}.")
    share = least_share(devices, PROFILE.share_steps)
    notes.extend(_not_free(devices, share))
    parts = Ingredients(
        profile=PROFILE,
        settings=chosen,
        devices=devices,
        share=share,
        overhead_bytes=overhead_bytes,
        pool=paged_pool(layers, chosen.page_tokens, request, inventory.name),
        notes=tuple(notes),
    )
    return served_problem(parts, inventory, cluster, workload, rules)


def overhead_terms(inventory: Inventory, settings: ServerSettings, *, ranks: int) -> dict[str, int]:
    """Return upper estimates, by name, of what a card needs in the engine's share beside weights and cache."""
    hidden = inventory.architecture.hidden_size or 0
    vocabulary = inventory.architecture.vocabulary_size or 0
    wide = _HIDDEN_COPIES * hidden + _FEED_FORWARD_COPIES * -(-_feed_forward_width(inventory) // settings.width)
    alone = ranks == 1 and settings.width == 1
    return {
        "activations": settings.batched_tokens * wide * _VALUE_BYTES,
        "logits": settings.running_sequences * vocabulary * _LOGIT_BYTES * _LOGIT_COPIES,
        "workspaces": _WORKSPACE_BYTES,
        "graphs": _GRAPH_BYTES,
        "collectives": 0 if alone else _COLLECTIVE_BYTES,
    }


def _not_free(devices: tuple[RankDevice, ...], share: Share) -> Iterator[str]:
    """Say where the share may not be free when the engine starts (`request_memory` in vllm/v1/worker/utils.py)."""
    for device in devices:
        if share.bytes_of(device.card_bytes) > device.card_bytes - _CONTEXT_BYTES:
            yield (
                f"The engine does not start where its share is not free: a driver's context takes 320 to 460 MiB of "
                f"{device.cards[0]} before, and the reserve keeps less. Keep more."
            )
            return


def _feed_forward_width(inventory: Inventory) -> int:
    """Return how many values of feed-forward a token has at a time: the widest matrix, or those of the experts used."""
    hidden = inventory.architecture.hidden_size or 1
    experts = inventory.architecture.experts
    used = 1 if experts is None else max(experts.used, 1)
    widest = 0
    for tensor in inventory.tensors:
        if len(tensor.shape) > 1 and tensor.role in {Role.FEED_FORWARD, Role.SHARED_EXPERT, Role.ROUTED_EXPERT}:
            times = used if tensor.role is Role.ROUTED_EXPERT else 1
            widest = max(widest, times * _rows(tensor, hidden))
    return widest


def _rows(tensor: Tensor, hidden: int) -> int:
    """Return the extent of a matrix that is not the hidden one; experts stacked in one tensor count once."""
    return -(-prod(tensor.shape[-2:]) // hidden)

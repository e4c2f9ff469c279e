"""SGLang: weights and slots for tokens inside one share of every card, all else outside of it.

The share (`--mem-fraction-static`) is of weights and cache alone; activations and graphs live in the rest, so a plan
grants no more than leaves the engine what it would keep free by itself (sglang/srt/arg_groups/memory_hook.py).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from solver.engines.servers.build import Ingredients, ServedProblem, placed_blocks, served_problem
from solver.engines.servers.cards import least_share, rank_devices
from solver.engines.servers.layers import cache_layers
from solver.engines.servers.partition import extra_at_the_end
from solver.engines.servers.pool import Request
from solver.engines.servers.profile import ServerProfile, ServerSettings, for_model
from solver.engines.servers.sharding import check_width
from solver.engines.servers.tokens import token_pool
from solver.workload import EngineName

if TYPE_CHECKING:
    from solver.cluster import Cluster
    from solver.problem import Rules
    from solver.workload import Workload
    from tensors.inventory import Inventory

__all__ = ["PROFILE", "own_reserve_bytes", "sglang"]

PROFILE = ServerProfile(
    engine=EngineName.SGLANG,
    build="0.5.14",
    share_name="--mem-fraction-static",
    share_steps=1000,
    page_tokens=1,
    vocabulary_multiple=64,
    batched_tokens=4096,
    running_sequences=48,
    default_partition=extra_at_the_end,
)

_MIB = 2**20
# 320 to 460 MiB are what contexts of the driver take of a card.
_CONTEXT_BYTES = 460 * _MIB
_CONSTANT_MIB, _LEAST_STEP_TOKENS = 512, 2048
_GRAPH_MIB_A_SEQUENCE, _CARDS_MIB = 2, 1024
_LARGE_CARD_MIB, _LARGE_CARD_RESERVE_MIB = 60 * 1024, 10 * 1024
# swa_full_tokens_ratio.
_WINDOW_SHARE = Fraction(4, 5)


def sglang(
    inventory: Inventory, cluster: Cluster, workload: Workload, rules: Rules, settings: ServerSettings | None = None
) -> ServedProblem:
    """Return the problem of cutting a model into SGLang's ranks.

    Raises:
        ArchitectureError: the cache cannot be sized, or is of a kind whose rule is not known.
        InputError: the model has no blocks, the cluster no card, or model, width and cache do not go together.
    """
    chosen = for_model(PROFILE.settings() if settings is None else settings, inventory)
    placed = placed_blocks(inventory, workload)
    check_width(inventory, chosen.width)
    devices, notes = rank_devices(cluster, chosen.width, frozenset(rules.exclude))
    layers = cache_layers(inventory, workload, EngineName.SGLANG, placed, chosen.width)
    request = Request(workload.context_tokens, workload.sequences, chosen.batched_tokens)
    cards = len(devices) * chosen.width

    def own(card_bytes: int) -> int:
        if chosen.overhead_bytes is not None:
            return chosen.overhead_bytes
        return own_reserve_bytes(card_bytes, cards, chosen.batched_tokens, chosen.running_sequences)

    parts = Ingredients(
        profile=PROFILE,
        settings=chosen,
        devices=devices,
        share=least_share(devices, PROFILE.share_steps, own),
        # The share is of what is free before weights are loaded, when the driver's context is there already.
        overhead_bytes=_CONTEXT_BYTES,
        pool=token_pool(layers, chosen.page_tokens, _WINDOW_SHARE, request, inventory.name),
        notes=tuple(notes),
    )
    return served_problem(parts, inventory, cluster, workload, rules)


def own_reserve_bytes(card_bytes: int, cards: int, batched_tokens: int, running_sequences: int) -> int:
    """Return what the engine keeps free of a card when nobody gives a share, for `cards` cards in all.

    512 MiB, 1.5 MiB a token of a step, 1 GiB for 8 cards, 2 MiB a sequence for graphs; at least 10 GiB of a card above
    60 GiB.
    """
    reserve = _CONSTANT_MIB * _MIB
    reserve += max(batched_tokens, _LEAST_STEP_TOKENS) * 3 * _MIB // 2
    reserve += cards * _CARDS_MIB * _MIB // 8
    reserve += running_sequences * _GRAPH_MIB_A_SEQUENCE * _MIB
    return max(reserve, _LARGE_CARD_RESERVE_MIB * _MIB) if card_bytes > _LARGE_CARD_MIB * _MIB else reserve

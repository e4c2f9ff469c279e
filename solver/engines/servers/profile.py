"""Profiles of serving engines as values, and the settings of one run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from solver.engines.servers.layers import is_sparse

if TYPE_CHECKING:
    from collections.abc import Callable

    from solver.workload import EngineName
    from tensors.inventory import Inventory

__all__ = ["ServerProfile", "ServerSettings", "for_model"]

# Kernels of sparse attention take pages of so many tokens and their multiples (flashmla_sparse.py, indexer.py and
# others in vllm/v1/attention/backends/mla; sglang/srt/arg_groups/model_overrides/deepseek_v2.py).
_SPARSE_PAGE_TOKENS = 64


@dataclass(frozen=True, slots=True)
class ServerProfile:
    """What one build of a serving engine does with memory.

    `share_steps`: the share of every card is a decimal number with so many steps from 0 to 1, rounded down.
    `page_tokens` is how many tokens a page of the cache holds. Rows of embedding and output matrix are padded to a
    multiple of `vocabulary_multiple`. `batched_tokens` and `running_sequences` are the engine's defaults for one step.
    `default_partition(blocks, ranks)` is the cut where nobody gives one.
    """

    engine: EngineName
    build: str
    share_name: str
    share_steps: int
    page_tokens: int
    vocabulary_multiple: int
    batched_tokens: int
    running_sequences: int
    default_partition: Callable[[int, int], tuple[int, ...]]

    def settings(self, width: int = 1) -> ServerSettings:
        """Return the engine's defaults for ranks of so many cards."""
        return ServerSettings(
            width=width,
            page_tokens=self.page_tokens,
            batched_tokens=self.batched_tokens,
            running_sequences=self.running_sequences,
            overhead_bytes=None,
        )


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What a person can set of a run.

    `width` is how many cards share every block of a rank (tensor parallelism), the same for all ranks. `overhead_bytes`
    is what a card needs beside weights and cache inside the engine's share of it; None leaves that to the engine's
    own estimate.
    """

    width: int
    page_tokens: int
    batched_tokens: int
    running_sequences: int
    overhead_bytes: int | None


def for_model(settings: ServerSettings, inventory: Inventory) -> ServerSettings:
    """Return the settings with pages as large as the model's attention needs them; smaller ones start no engine."""
    if not is_sparse(inventory):
        return settings
    pages = -(-settings.page_tokens // _SPARSE_PAGE_TOKENS)
    return replace(settings, page_tokens=pages * _SPARSE_PAGE_TOKENS)

"""How the serving engines cut a model into ranks where nobody tells them."""

from __future__ import annotations

__all__ = ["extra_at_the_end", "extra_before_the_last"]


def extra_before_the_last(blocks: int, ranks: int) -> tuple[int, ...]:
    """Return blocks by rank as vLLM cuts them: what is left over goes one each to the ranks before the last.

    The last rank has the head and is given none; the first only where every other has one (`get_pp_indices` in
    vllm/distributed/utils.py).

    >>> extra_before_the_last(22, 4)
    (5, 6, 6, 5)
    """
    each, extra = divmod(blocks, ranks)
    return tuple(each + (ranks - 1 - extra <= rank < ranks - 1) for rank in range(ranks))


def extra_at_the_end(blocks: int, ranks: int) -> tuple[int, ...]:
    """Return blocks by rank as SGLang cuts them: what is left over goes one each to the last ranks.

    Source: `get_pp_indices` in sglang/srt/distributed/utils.py.

    >>> extra_at_the_end(22, 4)
    (5, 5, 6, 6)
    """
    each, extra = divmod(blocks, ranks)
    return tuple(each + (rank >= ranks - extra) for rank in range(ranks))

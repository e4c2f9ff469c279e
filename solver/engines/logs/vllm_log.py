"""What vLLM says of its ranks' memory, in the words of its builds.

    Model loading took 13.72 GiB memory and 62.336108 seconds         gpu_model_runner.py
    Available KV cache memory: 36.56 GiB                              gpu_worker.py
    GPU KV cache size: 798,592 tokens                                 kv_cache_utils.py
    Maximum concurrency for 131,072 tokens per request: 12.13x        kv_cache_utils.py, or on the same line
    # GPU blocks: 1476, # CPU blocks: 2048                            builds before the first above
    model weights take 14.99GiB; ... the memory reserved for KV Cache is 3.93GiB.                   worker.py, 2025

A line of a worker starts with its name, such as "(Worker_PP1_TP0 pid=577)".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from solver.engines.logs.amounts import Printed, Unit, printed_bytes, printed_hundredths
from solver.engines.logs.reading import lines_of
from solver.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["VllmFigure", "VllmLog", "VllmWorker", "parse_vllm_log"]

_MOST_FIGURES = 10_000
_SIZE = r"(-?[0-9]{1,12}(?:\.[0-9]{1,9})?) ?(GiB|GB|MiB)"
_COUNT = r"([0-9][0-9,]{0,20})"

_WEIGHTS = re.compile(rf"(?:Model loading took|Loading model weights took|model weights take) {_SIZE}", re.ASCII)
_AVAILABLE = re.compile(
    rf"(?:Available KV cache memory: |memory reserved for KV Cache is |kv_cache_size=){_SIZE}", re.ASCII
)
_TOKENS = re.compile(rf"GPU KV cache size: {_COUNT} tokens", re.ASCII)
_CONCURRENCY = re.compile(
    rf"Maximum concurrency for {_COUNT} tokens per request: ([0-9]{{1,12}}(?:\.[0-9]{{1,9}})?)x", re.ASCII
)
_BLOCKS = re.compile(rf"# (?:GPU|cuda|rocm|xpu) blocks: {_COUNT}", re.ASCII | re.IGNORECASE)

_WORKER = re.compile(r"\(((?:Worker|VllmWorker|RayWorkerWrapper|RayWorker|EngineCore)\w*)([^()]{0,120})\)", re.ASCII)
_PLACE = re.compile(r"_(?:PP([0-9]{1,5}))?(?:_?TP([0-9]{1,5}))?(?=_|$)", re.ASCII)
_RANK = re.compile(r"\brank=([0-9]{1,6})\b", re.ASCII)


@dataclass(frozen=True, slots=True)
class VllmWorker:
    """Who wrote a line: the name in brackets, its pipeline rank and its rank among all, None where it does not say."""

    name: str
    pipeline: int | None
    world: int | None


@dataclass(frozen=True, slots=True)
class VllmFigure:
    """One amount of a line. `context_tokens` is what a concurrency is for, None for all else."""

    worker: VllmWorker
    what: str
    unit: Unit
    printed: Printed
    context_tokens: int | None


@dataclass(frozen=True, slots=True)
class VllmLog:
    """Every figure in order."""

    figures: tuple[VllmFigure, ...]


def parse_vllm_log(text: str, where: str) -> VllmLog:
    """Return the figures of a log, none if it is not one of vLLM.

    Raises:
        InputError: there are more figures than any run writes.
    """
    found: list[VllmFigure] = []
    for line in lines_of(text):
        found.extend(_figures(line))
        if len(found) > _MOST_FIGURES:
            raise InputError(where, f"more than {_MOST_FIGURES} figures; expected the log of one run. Cut it.")
    return VllmLog(tuple(found))


def _figures(line: str) -> Iterator[VllmFigure]:
    worker = _worker(line)
    for pattern, what in ((_WEIGHTS, "weights"), (_AVAILABLE, "cache memory")):
        if match := pattern.search(line):
            yield VllmFigure(worker, what, Unit.BYTES, printed_bytes(match[1], match[2]), None)
    if match := _TOKENS.search(line):
        # The engine multiplies floats, and may lose the last token.
        yield VllmFigure(worker, "cache tokens", Unit.TOKENS, Printed(_count(match[1]), 1), None)
    if match := _BLOCKS.search(line):
        yield VllmFigure(worker, "pages", Unit.PAGES, Printed(_count(match[1]), 0), None)
    if match := _CONCURRENCY.search(line):
        printed = printed_hundredths(match[2])
        yield VllmFigure(worker, "concurrency", Unit.HUNDREDTHS, printed, _count(match[1]))


def _worker(line: str) -> VllmWorker:
    workers = [_placed(match) for match in _WORKER.finditer(line)]
    known = [worker for worker in workers if worker.pipeline is not None or worker.world is not None]
    # What a worker of another machine says is passed on by the engine's core, which stands first.
    return (known or workers or [VllmWorker("", None, None)])[-1]


def _placed(match: re.Match[str]) -> VllmWorker:
    place = _PLACE.search(match[1])
    rank = _RANK.search(match[2])
    pipeline = int(place[1]) if place is not None and place[1] is not None else None
    # A worker that has a place among the cards of a rank and none in the pipeline stands in the only rank.
    if pipeline is None and place is not None and place[2] is not None:
        pipeline = 0
    return VllmWorker(match[1], pipeline, None if rank is None else int(rank[1]))


def _count(text: str) -> int:
    return int(text.replace(",", ""))

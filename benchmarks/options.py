"""How long options take: 60 artifacts of one model on 500 nodes, by arithmetic alone and with the solver.

    python -m benchmarks.options [ARTIFACTS] [NODES]

The artifacts are a 70B model in 59 mixes of types and a mixture of experts in bf16, written as headers. The nodes are
of 12 classes of cards in 10 fabrics, with a tenth without cards; what is free is drawn at random with a fixed seed.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import tensors
from solver.options.exact import exact_options
from solver.options.lines import lines_of
from solver.options.machines import cluster_of_pool
from solver.options.models import Offered, offered
from solver.options.policy import DEFAULT_POLICY
from solver.options.pool import GB, PoolNode, memory_from_class
from solver.options.simple import simple_options
from tensors.synthetic import MODELS, facts, layouts, write
from tensors.synthetic.gguf_files import write_gguf
from tensors.synthetic.mixes import Q4_K_M
from tensors.synthetic.shapes import GroupedShape

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTEXT_TOKENS = 16384
CLASSES = (
    "h100-80g",
    "h200-141g",
    "a100-80g",
    "a100-40g",
    "l40s-48g",
    "l4-24g",
    "a10-24g",
    "rtx-4090-24g",
    "rtx-3090-24g",
    "v100-32g",
    "t4-16g",
    "rtx-3080-12g",
)
TYPES = ("Q2_K", "Q3_K", "Q4_0", "Q4_K", "Q5_0", "Q5_K", "Q6_K", "Q8_0", "IQ2_XS", "IQ3_S", "IQ4_XS", "BF16")


def main() -> None:
    """Print the times."""
    given = [int(text) for text in sys.argv[1:]]
    artifacts, nodes = (*given, 60, 500)[:2] if len(given) != 1 else (given[0], 500)
    offers = list(islice(all_offers(artifacts), artifacts))
    pool = pool_of(nodes)
    started = time.perf_counter()
    simple = simple_options([offer.artifact for offer in offers], pool, CONTEXT_TOKENS, DEFAULT_POLICY)
    lines = lines_of(simple)
    arithmetic = time.perf_counter() - started
    print(f"{len(offers)} artifacts, {len(pool)} nodes")
    print(f"arithmetic: {arithmetic:.3f} s for {len(simple)} options in {len(lines)} lines (target 2 s)")
    started, worked = time.perf_counter(), time.process_time()
    answer = exact_options(offers, cluster_of_pool(pool, DEFAULT_POLICY), simple)
    lines = lines_of([*answer.simple, *answer.exact])
    exact, work = time.perf_counter() - started, time.process_time() - worked
    refuted = sum(option.refuted for option in answer.simple)
    print(f"solver: {exact:.1f} s more for {len(answer.exact)} options in {len(lines)} lines (target 20 s)")
    print(f"of which {work:.1f} s on a processor: the rest was spent waiting for one")
    print(f"{refuted} of {len(simple)} simple options refuted; ratio of times {exact / arithmetic:.0f}")


def all_offers(count: int) -> Iterator[Offered]:
    """Yield the artifacts."""
    with tempfile.TemporaryDirectory() as folder:
        yield offered(tensors.read(write("mixtral-8x7b", Path(folder) / "original")[0]), CONTEXT_TOKENS, None, None)
        shape = MODELS["llama-3.1-70b"].shape
        assert isinstance(shape, GroupedShape)
        pieces = tuple(layouts.grouped(shape))
        for number, (default, down, head) in enumerate(product(TYPES, TYPES[:3], ("Q6_K", "Q8_0"))):
            if number >= count:
                return
            name = f"llama-70b-{number:02}-{default}"
            types = MappingProxyType({"output": head, "ffn_down": down})
            mix = replace(Q4_K_M, name=name, default=default, types=types)
            keys: facts.Facts = {"general.name": name, **facts.grouped(shape)}
            path = Path(folder) / f"{name}.gguf"
            write_gguf(path, "llama", keys, pieces, mix=mix, part_bytes=0)
            yield offered(tensors.read(path), CONTEXT_TOKENS, None, None)
            path.unlink()


def pool_of(count: int) -> tuple[PoolNode, ...]:
    """Return the nodes."""
    draw = random.Random(7)  # noqa: S311 - a pool to measure on
    nodes = []
    for number in range(count):
        label = "" if number % 10 == 9 else CLASSES[number % len(CLASSES)]  # noqa: PLR2004 - a tenth
        gpus = draw.choice((1, 2, 4, 8)) if label else 0
        host = draw.choice((128, 256, 512, 1024)) * GB
        nodes.append(
            PoolNode(
                name=f"n{number}",
                gpu_class=label,
                fabric=draw.choice(("", *(f"ib{one}" for one in range(10)))),
                gpu_memory_bytes=memory_from_class(label) * GB,
                gpus=gpus,
                free_gpus=draw.randint(0, gpus),
                host_memory_bytes=host,
                host_free_bytes=draw.randint(0, host),
            )
        )
    return tuple(nodes)


if __name__ == "__main__":
    main()

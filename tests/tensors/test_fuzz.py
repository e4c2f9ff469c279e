"""Mutated headers are read or refused with an error of ours, and hostile ones cost little."""

from __future__ import annotations

import struct
import tracemalloc
from typing import TYPE_CHECKING

import pytest

from benchmarks.forge import MemoryFolder, Pair, Stated, gguf, seeds
from benchmarks.fuzz_headers import draw, verdict
from tensors.errors import TensorsError
from tensors.inventory import Inventory
from tensors.reader import read_from

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 20_260
CASES = 3_000
RUNS = 10


def test_the_models_that_fuzzing_starts_from_are_sound() -> None:
    """Unchanged, every one is accepted; otherwise nothing beyond the first check would be tested."""
    inventories = [read_from(MemoryFolder(files), None, allow_unknown_types=False) for files in seeds().values()]

    assert [9 * (True,)] == [tuple(inventory.complete for inventory in inventories)]
    assert {0, 4, 5, 6} == {len(inventory.tensors) for inventory in inventories}


@pytest.mark.parametrize("run", range(RUNS))
def test_a_mutated_header_is_read_or_refused_and_nothing_else(run: int) -> None:
    """Flipped, cut, grown and spliced; the seed and the number of a case that fails repeat it."""
    models = seeds()
    numbers = range(run * CASES // RUNS, (run + 1) * CASES // RUNS)
    broken = {}
    for number in numbers:
        try:
            verdict(draw(SEED, number, models))
        except Exception as error:  # noqa: BLE001
            broken[f"seed {SEED}, case {number}"] = repr(error)

    assert {} == broken


def test_a_case_is_the_same_every_time() -> None:
    assert draw(SEED, 7, seeds()) == draw(SEED, 7, seeds())
    assert draw(SEED, 7, seeds()) != draw(SEED, 8, seeds())


def peak(data: bytes, name: str) -> tuple[Inventory | TensorsError, int]:
    """Read a file in memory; return what came of it and the most bytes that this took beside the file."""
    folder = MemoryFolder({name: data})
    tracemalloc.start()
    try:
        outcome: Inventory | TensorsError = read_from(folder, name, allow_unknown_types=False)
    except TensorsError as error:
        outcome = error
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return outcome, most


COUNT = 20_000


def _entries(last: str) -> bytes:
    sound = [f'"{n:x}":{{"dtype":"U8","shape":[1],"data_offsets":[{n},{n + 1}]}}' for n in range(COUNT)]
    text = ("{" + ",".join([*sound[:-1], last or sound[-1]]) + "}").encode()
    return struct.pack("<Q", len(text)) + text


def _texts(count: int) -> bytes:
    text = ('{"__metadata__":{' + ",".join(f'"{n:x}":""' for n in range(count)) + "}}").encode()
    return struct.pack("<Q", len(text)) + text


HOSTILE: dict[str, Callable[[], tuple[bytes, str]]] = {
    "many entries": lambda: (_entries(""), "a.safetensors"),
    "many entries, the last without a shape": lambda: (_entries('"z":{"dtype":"U8"}'), "a.safetensors"),
    "many entries, the last behind a hole": lambda: (
        _entries('"z":{"dtype":"U8","shape":[],"data_offsets":[999999,1000000]}'),
        "a.safetensors",
    ),
    "many texts": lambda: (_texts(150_000), "a.safetensors"),
    "a deep header": lambda: (struct.pack("<Q", 10**7) + b'{"a":' + b"[" * 10**7, "a.safetensors"),
    "a deep value": lambda: (
        struct.pack("<Q", 4_000_011) + b'{"a":{"b":' + b"[" * 4_000_000 + b"}",
        "a.safetensors",
    ),
    "a long name": lambda: (struct.pack("<Q", 10**7) + b'{"' + b"a" * 10**7, "a.safetensors"),
    "many strings": lambda: (gguf([Pair("t", "str", ["a"] * 200_000)], []), "a.gguf"),
    "many empty strings": lambda: (
        b"GGUF"
        + struct.pack("<IQQ", 3, 0, 1)
        + struct.pack("<Q", 1)
        + b"k"
        + struct.pack("<IIQ", 9, 8, 2 * 10**5)
        + bytes(16 * 10**5),
        "a.gguf",
    ),
    "many pairs": lambda: (gguf([Pair(f"{n}", "u8", 0) for n in range(16_384)], []), "a.gguf"),
    "many pairs, one missing": lambda: (
        gguf([Pair(f"{n}", "u8", 0) for n in range(16_000)], [], pair_count=16_001),
        "a.gguf",
    ),
    "many arrays": lambda: (
        gguf([Pair(f"{n}", "i64", list(range(10**9, 10**9 + 512))) for n in range(2000)], [], pair_count=2001),
        "a.gguf",
    ),
    "many tensors": lambda: (
        gguf([], [Stated(b"%d" % n, (), 24, 32 * n) for n in range(20_000)]),
        "a.gguf",
    ),
    "many tensors, the last displaced": lambda: (
        gguf([], [Stated(b"%d" % n, (), 24, 32 * n % 2**19) for n in range(20_000)]),
        "a.gguf",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_header_takes_little_memory(kind: str) -> None:
    """Refused: at most twice the header and 16 MiB; accepted: at most ten times the header and 64 MiB."""
    data, name = HOSTILE[kind]()
    outcome, most = peak(data, name)
    factor, room = (10, 64) if isinstance(outcome, Inventory) else (2, 16)

    assert most <= factor * len(data) + room * 2**20

"""Read mutated headers until told to stop: every one is read or refused with an error of ours, and nothing else.

    python -m benchmarks.fuzz_headers --cases 100000 --seed 0

Every case is named by its seed and number, and can be run alone with --only. What is accepted must conserve its bytes,
and a safetensors file is accepted exactly when the format's own parser accepts it, save that data may be missing.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import safetensors as reference

from benchmarks.forge import MemoryFolder, mutated, seeds
from tensors.errors import TensorsError
from tensors.parts import CONFIG
from tensors.reader import read_from

if TYPE_CHECKING:
    from tensors.inventory import Inventory


class Case(NamedTuple):
    """A model of which one file is changed."""

    name: str
    files: dict[str, bytes]


def draw(seed: int, number: int, models: dict[str, dict[str, bytes]]) -> Case:
    """Return one case, the same every time."""
    rng = random.Random(f"{seed}/{number}")  # noqa: S311
    model = models[rng.choice(sorted(models))]
    name = rng.choice(sorted(model))
    others = [data for files in models.values() for data in files.values()]
    return Case(name, model | {name: mutated(model[name], others, rng)})


def verdict(case: Case) -> str:
    """Return "accepted" or "refused" for a case, and raise AssertionError where a promise is broken."""
    has_reference = len(case.files) == 1 and case.name.endswith(".safetensors")
    refusal, inventory = _read(case)
    if inventory is None:
        assert refusal.isprintable(), f"an error is not one printable line: {refusal!r}"
        assert not has_reference or not _reference_accepts(case), f"only this reader refuses: {refusal}"
        return "refused"
    _check_sums(inventory, case)
    assert not has_reference or not inventory.complete or _reference_accepts(case), "only this reader accepts"
    return "accepted"


def _read(case: Case) -> tuple[str, Inventory | None]:
    try:
        return "", read_from(MemoryFolder(case.files), min(case.files, key=_rank), allow_unknown_types=False)
    except TensorsError as error:
        return str(error), None


def _rank(name: str) -> int:
    """Order the files of a model so that the one that stands for it comes first."""
    return 0 if name.endswith("index.json") else 1 if name != CONFIG else 2


def _check_sums(inventory: Inventory, case: Case) -> None:
    """Check that the bytes of every file add up, and that every tensor is in one place."""
    for file in inventory.files:
        assert len(case.files[file.name]) == file.size_bytes
        assert file.size_bytes + file.missing_bytes == file.header_bytes + file.padding_bytes + file.tensor_bytes
        assert min(file.header_bytes, file.padding_bytes, file.tensor_bytes, file.missing_bytes) >= 0
    total = sum(file.tensor_bytes for file in inventory.files)
    assert inventory.weight_bytes == total
    blocks = inventory.blocks()
    assert len(blocks) == inventory.trunk_blocks + inventory.nextn_blocks
    outside = sum(tensor.size_bytes for tensor in inventory.tensors if tensor.block is None)
    assert sum(block.weight_bytes for block in blocks) + outside == total


def _reference_accepts(case: Case) -> bool:
    try:
        reference.deserialize(case.files[case.name])  # type: ignore[no-untyped-call]
    except reference.SafetensorError:
        return False
    return True


def main() -> int:
    """Run the cases that the command line asks for; return 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description="Read mutated headers.")
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, default=None, help="run this one case")
    arguments = parser.parse_args()
    models = seeds()
    numbers = range(arguments.cases) if arguments.only is None else [arguments.only]
    verdicts: Counter[str] = Counter()
    slowest, slowest_number = 0.0, 0
    print(f"seed {arguments.seed}, {len(numbers):,} cases from {len(models)} sound models")
    started = time.perf_counter()
    for number in numbers:
        case = draw(arguments.seed, number, models)
        before = time.perf_counter()
        try:
            verdicts[verdict(case)] += 1
        except Exception as error:  # noqa: BLE001
            verdicts["broken"] += 1
            print(f"case {number} ({case.name}): {type(error).__name__}: {error}")
        took = time.perf_counter() - before
        if took > slowest:
            slowest, slowest_number = took, number
    seconds = time.perf_counter() - started
    shown = ", ".join(f"{count:,} {what}" for what, count in sorted(verdicts.items()))
    print(f"{shown} in {seconds:.1f} s; the slowest, case {slowest_number}, took {slowest * 1000:.1f} ms")
    return 1 if verdicts["broken"] else 0


if __name__ == "__main__":
    sys.exit(main())

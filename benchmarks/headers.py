"""How long and how much memory reading headers takes.

    python -m benchmarks.headers [MODEL…]

The first table times `tensors.read` in this process, least of several runs after imports, beside the reader of the
`gguf` package on the same file, run once: what counts is the ratio in one run. Without MODEL it uses generated files: a
header with a vocabulary of 150,000 tokens, a split set of 1,809 tensors, a checkpoint of 232,385 tensors in 47 shards
whose data are holes. The second table reads hostile headers, each in a process of its own, and sets the memory it took
beside the bound: twice the header and 16 MiB where it is refused, ten times the header and 64 MiB where it is accepted.
"""

from __future__ import annotations

import json
import random
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.forge import Pair, Stated, gguf
from tensors import Inventory, TensorsError, read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_REPEATS = 7
_MIB = 2**20


class Timed(NamedTuple):
    """One row of the first table; `reference_ms` is the other reader's time, None where it was not run."""

    name: str
    tensors: int
    header_bytes: int
    milliseconds: float
    reference_ms: float | None


def timed(path: Path, *, beside_reference: bool) -> Timed:
    """Read a model several times, and once with the reader of the `gguf` package."""
    least = float("inf")
    for _ in range(_REPEATS):
        started = time.perf_counter()
        inventory = read(path)
        least = min(least, time.perf_counter() - started)
    reference = _reference_ms(path) if beside_reference else None
    header_bytes = sum(file.header_bytes for file in inventory.files)
    return Timed(path.name, len(inventory.tensors), header_bytes, least * 1000, reference)


def _reference_ms(path: Path) -> float:
    from gguf import GGUFReader  # noqa: PLC0415

    started = time.perf_counter()
    GGUFReader(path)
    return (time.perf_counter() - started) * 1000


def vocabulary(folder: Path) -> Path:
    """Write one file whose header is nearly all vocabulary, with lengths like those of a real one."""
    rng = random.Random(0)  # noqa: S311
    words = ["".join(rng.choices("etaoinshr", k=rng.choice((3, 4, 5, 6, 6, 7, 8, 12, 18)))) for _ in range(150_000)]
    merges = [f"{word[:3]} {word[3:]}" for word in words]
    pairs = [
        Pair("general.architecture", "str", "qwen2"),
        Pair("qwen2.block_count", "u32", 28),
        Pair("tokenizer.ggml.tokens", "str", words),
        Pair("tokenizer.ggml.token_type", "i32", [1] * len(words)),
        Pair("tokenizer.ggml.merges", "str", merges),
    ]
    path = folder / "vocabulary.gguf"
    path.write_bytes(gguf(pairs, _blocks(28, 12, 0), data_bytes=28 * 12 * 128))
    return path


def _blocks(count: int, tensors: int, first: int) -> list[Stated]:
    names = [
        f"blk.{first + block}.attn_{number}.weight".encode() for block in range(count) for number in range(tensors)
    ]
    return [Stated(name, (32,), 0, 128 * place) for place, name in enumerate(names)]


def split(folder: Path) -> Path:
    """Write a set of six parts with 1,809 tensors; its first part holds the vocabulary alone."""
    text = [f"token {number}" for number in range(150_000)]
    counts = (0, 24, 24, 24, 24, 17)
    for part, count in enumerate(counts):
        pairs = [Pair("split.no", "u16", part), Pair("split.count", "u16", len(counts))]
        if part == 0:
            pairs += [Pair("general.architecture", "str", "llama"), Pair("tokenizer.ggml.tokens", "str", text)]
            pairs += [Pair("llama.block_count", "u32", sum(counts)), Pair("tokenizer.ggml.merges", "str", text * 2)]
        tensors = _blocks(count, 16, sum(counts[:part]))
        if part == 1:
            tensors += [Stated(b"output.weight", (32,), 0, 128 * len(tensors))]
        path = folder / f"split-{part + 1:05}-of-00006.gguf"
        path.write_bytes(gguf(pairs, tensors, data_bytes=128 * len(tensors)))
    return folder / "split-00001-of-00006.gguf"


def sharded(folder: Path, tensors: int = 232_385, shards: int = 47) -> Path:
    """Write the headers of a quantised checkpoint with a tensor, a scale and a shape for every expert's matrix."""
    names = _checkpoint_names(tensors)
    kinds = {"weight_packed": ("I32", [7168, 256]), "weight_scale": ("BF16", [7168, 64]), "weight_shape": ("I64", [2])}
    widths = {"I32": 4, "BF16": 2, "I64": 8}
    weight_map: dict[str, str] = {}
    each = -(-len(names) // shards)
    for shard in range(shards):
        file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        header: dict[str, object] = {"__metadata__": {"format": "pt"}}
        end = 0
        for name in names[shard * each : (shard + 1) * each]:
            dtype, shape = kinds[name.rpartition(".")[2]]
            begin, end = end, end + widths[dtype] * shape[0] * (shape[1] if len(shape) > 1 else 1)
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
            weight_map[name] = file
        text = json.dumps(header, separators=(",", ":")).encode()
        with (folder / file).open("wb") as opened:
            opened.write(struct.pack("<Q", len(text)) + text)
            opened.truncate(8 + len(text) + end)
    (folder / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": weight_map}, indent=2)
    )
    (folder / "config.json").write_text(json.dumps({"model_type": "kimi_k2", "num_hidden_layers": 68}))
    return folder


def _checkpoint_names(count: int) -> list[str]:
    names = (
        f"model.layers.{block}.mlp.experts.{expert}.{matrix}.{kind}"
        for block in range(count)
        for expert in range(384)
        for matrix in ("gate_proj", "up_proj", "down_proj")
        for kind in ("weight_packed", "weight_scale", "weight_shape")
    )
    return [next(names) for _ in range(count)]


def _safetensors(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


def _million(*, broken: bool) -> bytes:
    rows = [f'"k{n:07}":{{"dtype":"U8","shape":[1],"data_offsets":[{n},{n + 1}]}}' for n in range(1_000_000)]
    return _safetensors(("{" + ",".join(rows[:-1] if not broken else [*rows[:-2], rows[-1]]) + "}").encode())


def _array(kind: int, count: int, data_bytes: int) -> bytes:
    start = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"k"
    return start + struct.pack("<IIQ", 9, kind, count) + bytes(data_bytes)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "million-entries.safetensors": lambda: _million(broken=False),
    "million-entries-and-a-hole.safetensors": lambda: _million(broken=True),
    "deep-100-MB.safetensors": lambda: _safetensors(b'{"a":' + b"[" * 99_000_000),
    "string-100-MB.safetensors": lambda: _safetensors(b'{"' + b"a" * 99_000_000),
    "spaces-100-MB.safetensors": lambda: _safetensors(b" " * 99_000_000),
    "million-texts.safetensors": lambda: _safetensors(
        ('{"__metadata__":{' + ",".join(f'"{n:x}":""' for n in range(1_000_000)) + "}}").encode()
    ),
    "empty-strings-128-MB.gguf": lambda: _array(8, 16_000_000, 128_000_000),
    "bytes-128-MB.gguf": lambda: _array(0, 128_000_000, 128_000_000),
    "tensors-32768.gguf": lambda: gguf([], [Stated(b"%d" % n, (), 24, 32 * n) for n in range(32_768)]),
}


def _measured(path: Path) -> str:
    """Run in a process of its own: read a file and say what came of it, how long it took and how much it needed."""
    Path("/proc/self/clear_refs").write_text("5")
    before = _high_water_bytes()
    started = time.perf_counter()
    try:
        outcome = "accepted" if isinstance(read(path), Inventory) else ""
    except TensorsError:
        outcome = "refused"
    return f"{outcome} {time.perf_counter() - started} {_high_water_bytes() - before}"


def _high_water_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the system does not count the memory of a process")


def hostile(folder: Path) -> Iterator[str]:
    """Yield a row of the second table for every hostile header."""
    for name, build in HOSTILE.items():
        path = folder / name
        path.write_bytes(build())
        size = path.stat().st_size
        command = [sys.executable, "-m", "benchmarks.headers", "--measure", str(path)]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
        outcome, seconds, taken = printed.split()
        bound = 10 * size + 64 * _MIB if outcome == "accepted" else 2 * size + 16 * _MIB
        memory = f"{int(taken) / _MIB:9.1f} {bound / _MIB:9.1f}"
        yield f"{name:40} {size / _MIB:8.1f} {outcome:9} {float(seconds):7.2f} {memory}"
        path.unlink()


def main() -> None:
    """Print both tables."""
    if sys.argv[1:2] == ["--measure"]:
        print(_measured(Path(sys.argv[2])))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = [(Path(model), True) for model in sys.argv[1:]]
        if not models:
            (folder / "checkpoint").mkdir()
            models = [(vocabulary(folder), True), (split(folder), False), (sharded(folder / "checkpoint"), False)]
        print(f"{'model':44} {'tensors':>8} {'header MiB':>10} {'ms':>8} {'gguf ms':>9} {'ratio':>7}")
        for path, beside_reference in models:
            row = timed(path, beside_reference=beside_reference)
            ratio = f"{row.reference_ms:9.0f} {row.reference_ms / row.milliseconds:6.0f}x" if row.reference_ms else ""
            print(f"{row.name:44} {row.tensors:8,} {row.header_bytes / _MIB:10.1f} {row.milliseconds:8.1f} {ratio}")
        if sys.platform == "linux":
            print(f"\n{'hostile header':40} {'MiB':>8} {'':9} {'s':>7} {'MiB taken':>9} {'MiB bound':>9}")
            for line in hostile(folder):
                print(line)


if __name__ == "__main__":
    main()

"""Model files made by hand, byte for byte: what tests, fuzzing and timing of the readers start from."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self, TypeAlias

from tensors.errors import SourceError
from tensors.sources import BytesSource, is_plain

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from tensors.sources.protocols import Result

__all__ = ["MemoryFolder", "Pair", "Stated", "gguf", "mutated", "safetensors", "seeds"]

_SCALARS = {
    "u8": (0, "B"),
    "i8": (1, "b"),
    "u16": (2, "H"),
    "i16": (3, "h"),
    "u32": (4, "I"),
    "i32": (5, "i"),
    "f32": (6, "f"),
    "bool": (7, "B"),
    "u64": (10, "Q"),
    "i64": (11, "q"),
    "f64": (12, "d"),
}
_STRING, _ARRAY = 8, 9

Value: TypeAlias = "int | float | str | Sequence[int] | Sequence[float] | Sequence[str]"


@dataclass(frozen=True, slots=True)
class Pair:
    """A key-value pair; `kind` is the type of the value or of its entries."""

    key: str
    kind: str
    value: Value


@dataclass(frozen=True, slots=True)
class Stated:
    """A tensor as a header states it, right or wrong: `dimensions` innermost first, as in the file."""

    name: bytes
    dimensions: tuple[int, ...]
    type: int
    offset: int


@dataclass(slots=True)
class MemoryFolder:
    """A folder of bytes in memory."""

    files: dict[str, bytes]
    name: str = "memory"
    location: str = "memory"
    opened: list[BytesSource] = field(default_factory=list)

    def names(self) -> tuple[str, ...]:
        """Return the names of the files, sorted."""
        return tuple(sorted(self.files))

    def has(self, name: str) -> bool:
        """Return whether a file is there."""
        return name in self.files

    def join(self, name: str) -> str:
        """Return the location of a file."""
        return f"{self.location}/{name}"

    def encloses(self, name: str) -> bool:
        """Return whether a name is that of a file of this folder."""
        return is_plain(name)

    def open(self, name: str) -> BytesSource:
        """Return the bytes of a file as a source, and remember it."""
        if name not in self.files:
            raise SourceError(self.join(name), "there is no such file; expected a model file. Check the path.")
        source = BytesSource(name, self.files[name])
        self.opened.append(source)
        return source

    def each(self, function: Callable[[str], Result], names: Iterable[str]) -> Iterator[Result]:
        """Yield what a function gives for names of files, in their order."""
        return map(function, names)

    def __enter__(self) -> Self:
        return self


def gguf(
    pairs: Sequence[Pair],
    tensors: Sequence[Stated],
    *,
    order: str = "<",
    version: int = 3,
    pair_count: int | None = None,
    tensor_count: int | None = None,
    alignment: int = 32,
    data_bytes: int = 0,
) -> bytes:
    """Return a GGUF file: its header, zeros up to the alignment, and `data_bytes` zeros; counts may be wrong."""
    counts = (
        len(tensors) if tensor_count is None else tensor_count,
        len(pairs) if pair_count is None else pair_count,
    )
    header = b"GGUF" + struct.pack(f"{order}IQQ", version, *counts)
    header += b"".join(_pair(pair, order) for pair in pairs)
    header += b"".join(_tensor(tensor, order) for tensor in tensors)
    padding = -len(header) % alignment if tensors else 0
    return header + bytes(padding) + bytes(data_bytes)


def _string(text: bytes, order: str) -> bytes:
    return struct.pack(f"{order}Q", len(text)) + text


def _pair(pair: Pair, order: str) -> bytes:
    key = _string(pair.key.encode(), order)
    if pair.kind == "str":
        if isinstance(pair.value, str):
            return key + struct.pack(f"{order}I", _STRING) + _string(pair.value.encode(), order)
        assert not isinstance(pair.value, int | float)
        texts = b"".join(_string(str(text).encode(), order) for text in pair.value)
        return key + struct.pack(f"{order}IIQ", _ARRAY, _STRING, len(pair.value)) + texts
    number, code = _SCALARS[pair.kind]
    if isinstance(pair.value, int | float):
        return key + struct.pack(f"{order}I{code}", number, pair.value)
    return key + struct.pack(f"{order}IIQ{len(pair.value)}{code}", _ARRAY, number, len(pair.value), *pair.value)


def _tensor(tensor: Stated, order: str) -> bytes:
    count = len(tensor.dimensions)
    shape = struct.pack(f"{order}I{count}Q", count, *tensor.dimensions)
    return _string(tensor.name, order) + shape + struct.pack(f"{order}IQ", tensor.type, tensor.offset)


def safetensors(
    tensors: Mapping[str, tuple[str, Sequence[int], tuple[int, int]]],
    *,
    metadata: Mapping[str, str] | None = None,
    data_bytes: int | None = None,
) -> bytes:
    """Return a safetensors file of tensors (type, shape, offsets) with zeros for data, as many as the offsets need."""
    header: dict[str, object] = {} if metadata is None else {"__metadata__": dict(metadata)}
    for name, (dtype, shape, offsets) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    total = max((offsets[1] for _, _, offsets in tensors.values()), default=0)
    return struct.pack("<Q", len(text)) + text + bytes(total if data_bytes is None else data_bytes)


def seeds() -> dict[str, dict[str, bytes]]:
    """Return small sound models, one of every kind that the readers know: the files of each by name."""
    texts = ("little.gguf", "<", 3), ("big.gguf", ">", 3), ("version-2.gguf", "<", 2)
    single = {
        name: gguf(_PAIRS, _TENSORS, order=order, version=version, data_bytes=25024) for name, order, version in texts
    }
    single["empty.gguf"] = gguf([], [])
    single["vocabulary.gguf"] = gguf([*_PAIRS[:-1], Pair("tokenizer.ggml.merges", "str", _MERGES)], [])
    single["metadata.safetensors"] = safetensors(_LAYOUT, metadata={"format": "pt"})
    single["unsorted.safetensors"] = safetensors(dict(reversed(_LAYOUT.items())))
    return {name: {name: data} for name, data in single.items()} | {"split": _split_set(), "sharded": _sharded_set()}


_MERGES = [f"{number} {number * number}" for number in range(4500)]
_PAIRS = (
    Pair("general.architecture", "str", "llama"),
    Pair("general.alignment", "u32", 32),
    Pair("llama.block_count", "u32", 2),
    Pair("llama.embedding_length", "u64", 64),
    Pair("llama.attention.head_count", "u32", 4),
    Pair("llama.attention.head_count_kv", "i32", [2, 2]),
    Pair("llama.context_length", "u16", 4096),
    Pair("llama.rope.freq_base", "f32", 1e4),
    Pair("llama.flag", "bool", 1),
    Pair("general.tags", "str", ["a", "", "tag"]),
    Pair("tokenizer.ggml.tokens", "str", [f"t{number}" for number in range(300)]),
    Pair("tokenizer.ggml.scores", "f32", [0.5] * 300),
)
_TENSORS = (
    Stated(b"token_embd.weight", (64, 300), 8, 0),
    Stated(b"blk.0.attn_q.weight", (64, 64), 2, 20416),
    Stated(b"blk.1.ffn_gate.weight", (64, 8), 0, 22720),
    Stated(b"output_norm.weight", (64,), 0, 24768),
)
_LAYOUT: dict[str, tuple[str, Sequence[int], tuple[int, int]]] = {
    "model.norm.weight": ("F32", (16,), (0, 64)),
    "model.embed_tokens.weight": ("BF16", (8, 16), (64, 320)),
    "model.layers.0.mlp.experts.0.up_proj.weight": ("F8_E4M3", (4, 16), (320, 384)),
    "model.layers.1.self_attn.q_proj.weight": ("F4", (4, 16), (384, 416)),
    "model.layers.1.self_attn.empty": ("I64", (0, 3), (416, 416)),
}


def _split_set() -> dict[str, bytes]:
    def part(number: int) -> list[Pair]:
        return [Pair("split.no", "u16", number), Pair("split.count", "u16", 2), Pair("split.tensors.count", "i32", 4)]

    second = [Stated(tensor.name, tensor.dimensions, tensor.type, tensor.offset - 22720) for tensor in _TENSORS[2:]]
    return {
        "split-00001-of-00002.gguf": gguf([*_PAIRS, *part(0)], _TENSORS[:2], data_bytes=22720),
        "split-00002-of-00002.gguf": gguf(part(1), second, data_bytes=2304),
    }


def _sharded_set() -> dict[str, bytes]:
    first, second = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    weight_map = dict.fromkeys(_LAYOUT, first) | {"lm_head.weight": second}
    config = {
        "model_type": "llama",
        "num_hidden_layers": 2,
        "hidden_size": 16,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 8,
        "max_position_embeddings": 2048,
        "text_config": {"head_dim": 4},
    }
    return {
        first: safetensors(_LAYOUT),
        second: safetensors({"lm_head.weight": ("F16", (8, 16), (0, 256))}),
        "model.safetensors.index.json": json.dumps(
            {"metadata": {"total_size": 672}, "weight_map": weight_map}
        ).encode(),
        "config.json": json.dumps(config).encode(),
    }


_EDGES = (0, 1, 7, 8, 0x7F, 0xFF, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 8, 2**64 - 1)


def mutated(sound: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """Return `sound` with one to three changes: bits flipped, an edge value written, bytes cut, grown or spliced in."""
    data = bytearray(sound)
    # Headers are short and data is zeros: most changes should hit the header.
    reach = min(len(data), rng.choice((64, 512, 4096, len(data) or 1)))
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(reach + 1)
        match rng.randrange(6):
            case 0:
                for _ in range(rng.randint(1, 8)):
                    if data:
                        data[rng.randrange(min(reach, len(data)))] ^= 1 << rng.randrange(8)
            case 1:
                width = rng.choice((1, 2, 4, 8))
                edge = rng.choice(_EDGES) % 2 ** (8 * width)
                data[at : at + width] = edge.to_bytes(width, rng.choice(("little", "big")))
            case 2:
                del data[at:]
            case 3:
                del data[at : at + rng.randint(1, 64)]
            case 4:
                data[at:at] = rng.randbytes(rng.randint(1, 64))
            case _:
                other = rng.choice(others)
                start = rng.randrange(len(other) + 1)
                data[at : at + rng.randint(0, 64)] = other[start : start + rng.randint(1, 256)]
        reach = max(1, min(reach, len(data)))
    return bytes(data)

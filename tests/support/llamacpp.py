"""Models in memory for tests of the llama.cpp engine: keys of a header and tensors by name, shape and type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.emulation import Emulation, emulate
from solver.engines.llamacpp.profile import DEFAULT_BUILD, profile_of
from tensors import architecture
from tensors.errors import SourceError
from tensors.grouping import group
from tensors.header import FileHeader, StoredTensor
from tensors.inventory import Inventory, ModelFile
from tensors.metadata import ArraySummary
from tensors.types import GGML_TYPES, tensor_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tensors.metadata import MetadataValue

MIB = 2**20
_TYPES = {kind.name: kind for kind in GGML_TYPES.values()}
_DATA_START = 4096
_ALIGNMENT = 32

Specification = tuple[str, tuple[int, ...], str]


def model(
    family: str,
    keys: Mapping[str, MetadataValue],
    tensors: Iterable[Specification],
    *,
    vocabulary: int = 1000,
    files: int = 1,
    name: str = "a model",
) -> Inventory:
    """Return the inventory of a GGUF model; of several files, each holds as many tensors as the others."""
    metadata: dict[str, MetadataValue] = {f"{family}.{key}": value for key, value in keys.items()}
    metadata |= {"general.architecture": family, "tokenizer.ggml.tokens": ArraySummary("string", vocabulary)}
    specifications = list(tensors)
    each = -(-len(specifications) // files)
    headers = [_header(metadata, specifications[start : start + each]) for start in range(0, len(specifications), each)]
    shapes = {tensor.name: tensor.shape for header in headers for tensor in header.tensors}
    built = architecture.from_gguf(metadata, shapes)
    grouping = group(headers, built)
    return Inventory(
        name=name,
        format="gguf",
        files=tuple(ModelFile(header.name, header.size_bytes, _DATA_START, 0, 0, 0) for header in headers),
        tensors=grouping.tensors,
        trunk_blocks=grouping.trunk_blocks,
        nextn_blocks=grouping.nextn_blocks,
        tied=grouping.tied,
        architecture=built,
        header_sha256="0" * 64,
        notes=(),
    )


def _header(metadata: Mapping[str, MetadataValue], specifications: Sequence[Specification]) -> FileHeader:
    stored = []
    offset = _DATA_START
    for name, shape, kind in specifications:
        size = tensor_bytes(_TYPES[kind], shape)
        stored.append(StoredTensor(name, shape, kind, size, offset))
        offset += -(-size // _ALIGNMENT) * _ALIGNMENT
    return FileHeader("part.gguf", "part.gguf", offset, memoryview(b""), metadata, tuple(stored), 0, 0, 0)


def dense(
    blocks: int,
    *,
    hidden: int,
    kv_width: int,
    feed_forward: int,
    vocabulary: int,
    kind: str = "Q4_K",
    head_kind: str | None = "Q6_K",
) -> list[Specification]:
    """Return the tensors of a llama: without `head_kind` the head is tied."""
    tensors: list[Specification] = [("token_embd.weight", (vocabulary, hidden), kind)]
    for block in range(blocks):
        prefix = f"blk.{block}."
        tensors += [
            (f"{prefix}attn_norm.weight", (hidden,), "F32"),
            (f"{prefix}attn_q.weight", (hidden, hidden), kind),
            (f"{prefix}attn_k.weight", (kv_width, hidden), kind),
            (f"{prefix}attn_v.weight", (kv_width, hidden), kind),
            (f"{prefix}attn_output.weight", (hidden, hidden), kind),
            (f"{prefix}ffn_norm.weight", (hidden,), "F32"),
            (f"{prefix}ffn_gate.weight", (feed_forward, hidden), kind),
            (f"{prefix}ffn_up.weight", (feed_forward, hidden), kind),
            (f"{prefix}ffn_down.weight", (hidden, feed_forward), kind),
        ]
    tensors.append(("output_norm.weight", (hidden,), "F32"))
    if head_kind is not None:
        tensors.append(("output.weight", (vocabulary, hidden), head_kind))
    return tensors


def llama_70b(*, tied: bool = False) -> Inventory:
    """Return a model of the shape of Llama 70B: 80 blocks of 459.0625 MiB."""
    keys: dict[str, MetadataValue] = {
        "block_count": 80,
        "context_length": 131072,
        "embedding_length": 8192,
        "feed_forward_length": 28672,
        "attention.head_count": 64,
        "attention.head_count_kv": 8,
        "attention.key_length": 128,
        "attention.value_length": 128,
    }
    tensors = dense(
        80,
        hidden=8192,
        kv_width=1024,
        feed_forward=28672,
        vocabulary=128256,
        head_kind=None if tied else "Q6_K",
    )
    return model("llama", keys, tensors, vocabulary=128256)


def mixtral() -> Inventory:
    """Return a model of the shape of Mixtral 8x7B: 32 blocks with 756 MiB of experts each."""
    hidden, feed_forward, vocabulary = 4096, 14336, 32000
    keys: dict[str, MetadataValue] = {
        "block_count": 32,
        "context_length": 32768,
        "embedding_length": hidden,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
        "expert_count": 8,
        "expert_used_count": 2,
    }
    tensors: list[Specification] = [("token_embd.weight", (vocabulary, hidden), "Q4_K")]
    for block in range(32):
        prefix = f"blk.{block}."
        tensors += [
            (f"{prefix}attn_norm.weight", (hidden,), "F32"),
            (f"{prefix}attn_q.weight", (hidden, hidden), "Q4_K"),
            (f"{prefix}attn_k.weight", (1024, hidden), "Q4_K"),
            (f"{prefix}attn_v.weight", (1024, hidden), "Q4_K"),
            (f"{prefix}attn_output.weight", (hidden, hidden), "Q4_K"),
            (f"{prefix}ffn_norm.weight", (hidden,), "F32"),
            (f"{prefix}ffn_gate_inp.weight", (8, hidden), "F32"),
            (f"{prefix}ffn_gate_exps.weight", (8, feed_forward, hidden), "Q4_K"),
            (f"{prefix}ffn_up_exps.weight", (8, feed_forward, hidden), "Q4_K"),
            (f"{prefix}ffn_down_exps.weight", (8, hidden, feed_forward), "Q4_K"),
        ]
    tensors += [("output_norm.weight", (hidden,), "F32"), ("output.weight", (vocabulary, hidden), "Q6_K")]
    return model("llama", keys, tensors, vocabulary=vocabulary)


def emulated(
    inventory: Inventory, flags: str, *, servers: int = 2, free: Sequence[int] | None = None, build: str = DEFAULT_BUILD
) -> Emulation:
    """Return the emulation of flags behind `llama-completion -m MODEL`, or behind the program they begin with."""
    words = flags.split()
    program = [] if words and words[0].startswith("llama-") else ["llama-completion"]
    addresses = ["--rpc", ",".join(f"127.0.0.1:{50100 + number}" for number in range(servers))] if servers else []
    command = [*program, *words[: 1 - len(program)], "-m", "model.gguf", *addresses, *words[1 - len(program) :]]
    return emulate(profile_of(build), command, free, None, lambda _: inventory)


def small_llama(family: str = "llama", **keys: MetadataValue) -> Inventory:
    """Return a model of four small blocks, of another family if need be, with further keys (`__` stands for a dot)."""
    base: dict[str, MetadataValue] = {
        "block_count": 4,
        "context_length": 4096,
        "embedding_length": 256,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
    }
    tensors = dense(4, hidden=256, kv_width=128, feed_forward=512, vocabulary=512, kind="F16", head_kind="F16")
    more = {key.replace("__", "."): value for key, value in keys.items()}
    return model(family, base | more, tensors, vocabulary=512)


def run(
    line: str | Sequence[str],
    *,
    free: Sequence[int] | None = None,
    files: Mapping[str, Inventory] | None = None,
    build: str = DEFAULT_BUILD,
) -> Emulation:
    """Return the emulation of a line, with files by name; model.gguf is a small llama unless it is among them."""
    there = {"model.gguf": small_llama()} | dict(files or {})
    words = line.split() if isinstance(line, str) else line

    def read(path: str) -> Inventory:
        if path not in there:
            raise SourceError(path, "there is no such file or folder; expected a model. Check the path.")
        return there[path]

    return emulate(profile_of(build), words, free, None, read)

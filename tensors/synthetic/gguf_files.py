"""GGUF files that are headers with a hole behind them, through the writer of the `gguf` package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensors.types import GGML_TYPES, tensor_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensors.synthetic.facts import Facts
    from tensors.synthetic.layouts import Piece
    from tensors.synthetic.mixes import Mix

__all__ = ["write_gguf"]

_TYPES = {kind.name: kind for kind in GGML_TYPES.values()}


def write_gguf(
    path: Path, family: str, facts: Facts, pieces: Sequence[Piece], *, mix: Mix, part_bytes: int
) -> tuple[Path, ...]:
    """Write the header of a model, and holes as long as its tensors; return the files.

    `facts` are keys of the header without the family's name; keys of `general.` keep theirs. Tensors are spread over
    parts of at most `part_bytes` after a first part without any; 0 writes one file.
    """
    from gguf import GGMLQuantizationType, GGUFWriter  # noqa: PLC0415 (numpy alone costs a tenth of a second)

    writer: Any = GGUFWriter(path, family, split_max_size=part_bytes, small_first_shard=part_bytes > 0)
    _add_facts(writer, family, facts)
    blocks = 1 + max((piece.block for piece in pieces if piece.block is not None), default=-1)
    for piece in pieces:
        name = mix.type_of(piece, blocks)
        size_bytes = tensor_bytes(_TYPES[name], piece.shape)
        kind = GGMLQuantizationType[name]
        writer.add_tensor_info(piece.name, piece.shape, None, size_bytes, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    alignment = writer.data_alignment
    files = []
    for file, tensors in zip(writer.fout, writer.tensors, strict=True):
        data = sum(_aligned(tensor.nbytes, alignment) for tensor in tensors.values())
        file.truncate(_aligned(file.tell(), alignment) + data)
        files.append(Path(file.name))
    writer.close()
    return tuple(files)


def _add_facts(writer: Any, family: str, facts: Facts) -> None:  # noqa: ANN401 (untyped library)
    for key, value in facts.items():
        name = key if key.startswith("general.") else f"{family}.{key}"
        if isinstance(value, str):
            writer.add_string(name, value)
        elif isinstance(value, float):
            writer.add_float32(name, value)
        else:
            writer.add_uint32(name, value)


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment

"""A sharded safetensors checkpoint that is headers with holes behind them, with its index and config.json.

The header form is that of https://github.com/huggingface/safetensors#format: its length in 8 bytes, JSON padded with
spaces to a multiple of 8, then the tensors without gaps.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tensors.synthetic.layouts import Piece

__all__ = ["write_safetensors"]

_DTYPE, _DTYPE_BYTES = "BF16", 2


def write_safetensors(
    folder: Path, stem: str, config: Mapping[str, object], pieces: Sequence[Piece], shard_bytes: int
) -> tuple[Path, ...]:
    """Write shards of at most `shard_bytes`, their index and the config; return the files, shards first."""
    shards = _shards(pieces, shard_bytes)
    names = [f"{stem}-{number:05}-of-{len(shards):05}.safetensors" for number in range(1, len(shards) + 1)]
    for name, shard in zip(names, shards, strict=True):
        _write_shard(folder / name, shard)
    index = {
        "metadata": {"total_size": sum(_size(piece) for piece in pieces)},
        "weight_map": {piece.name: name for name, shard in zip(names, shards, strict=True) for piece in shard},
    }
    (folder / f"{stem}.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n", encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    return tuple(folder / name for name in (*names, f"{stem}.safetensors.index.json", "config.json"))


def _shards(pieces: Sequence[Piece], shard_bytes: int) -> list[list[Piece]]:
    shards: list[list[Piece]] = [[]]
    filled = 0
    for piece in pieces:
        size = _size(piece)
        if shards[-1] and filled + size > shard_bytes:
            shards.append([])
            filled = 0
        shards[-1].append(piece)
        filled += size
    return shards


def _write_shard(path: Path, pieces: Sequence[Piece]) -> None:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for piece in sorted(pieces, key=lambda piece: piece.name):
        end = offset + _size(piece)
        header[piece.name] = {"dtype": _DTYPE, "shape": list(piece.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + offset)


def _size(piece: Piece) -> int:
    size = _DTYPE_BYTES
    for extent in piece.shape:
        size *= extent
    return size

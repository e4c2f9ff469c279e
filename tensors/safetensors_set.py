"""A safetensors model: one file, or the shards that an index or their names list, with the config.json beside them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from tensors import architecture, safetensors
from tensors.errors import FormatError, SourceError
from tensors.gathered import Gathered, shapes_of
from tensors.header import Prefix
from tensors.parts import CONFIG, INDEX_SUFFIX, listed, part_name, set_of
from tensors.text import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensors.header import FileHeader
    from tensors.metadata import ConfigValue
    from tensors.sources import Folder

__all__ = ["gather"]

_NOTHING = memoryview(b"")

_INDEX_LIMIT_BYTES = 256 * 2**20
_CONFIG_LIMIT_BYTES = 8 * 2**20


class _IndexMetadata(msgspec.Struct):
    total_size: int | float | None = None


class _Index(msgspec.Struct):
    weight_map: dict[str, str]
    metadata: _IndexMetadata | None = None


_decode_index = msgspec.json.Decoder(_Index).decode
_decode_config = msgspec.json.Decoder(dict[str, object]).decode


def gather(folder: Folder, name: str, *, allow_unknown_types: bool) -> Gathered:
    """Read the headers of the file `name`, of all shards of its set, and the config.json of the folder."""
    index_name = _index_of(folder, name)
    index = _read_index(folder, index_name) if index_name else None
    shards = _shards(folder, index_name, index) if index_name and index else set_of(folder, name)
    config = _read_config(folder) if folder.has(CONFIG) else {}
    headers: list[FileHeader] = []
    digest = hashlib.sha256()
    for shard in shards:
        with folder.open(shard) as source:
            header = safetensors.read_header(source, allow_unknown_types=allow_unknown_types)
        digest.update(header.raw)
        headers.append(header._replace(raw=_NOTHING))
    notes = _against_index(folder, index_name, index, headers) if index_name and index else []
    if not config:
        notes.append(f"there is no {CONFIG} beside the tensors: what they do not show of the architecture is unknown")
    return Gathered(
        name=folder.name or name,
        format="safetensors",
        headers=headers,
        architecture=architecture.from_config(config, shapes_of(headers)),
        header_sha256=digest.hexdigest(),
        notes=tuple(notes),
    )


def _index_of(folder: Folder, name: str) -> str | None:
    """Return the index that lists the file `name`, or `name` itself where it is an index."""
    if name.endswith(INDEX_SUFFIX):
        return name
    part = part_name(name)
    candidate = f"{part.stem if part else name.removesuffix('.safetensors')}{INDEX_SUFFIX}"
    return candidate if folder.has(candidate) else None


def _whole(folder: Folder, name: str, limit_bytes: int) -> bytes:
    with folder.open(name) as source:
        if source.size > limit_bytes:
            problem = f"has {source.size:,} bytes; expected at most {limit_bytes:,}. Is this the right file?"
            raise FormatError(source.location, 0, problem)
        prefix = Prefix(source, limit_bytes)
        prefix.reach(source.size)
        return bytes(prefix.data)


def _read_index(folder: Folder, name: str) -> _Index:
    try:
        index = _decode_index(_whole(folder, name, _INDEX_LIMIT_BYTES))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        problem = f"is no index ({error}); expected an object with a weight_map of tensors to files. Fetch it again."
        raise FormatError(folder.join(name), 0, problem) from None
    if not index.weight_map:
        problem = "has an empty weight_map; expected the file of every tensor. Fetch it again."
        raise FormatError(folder.join(name), 0, problem)
    return index


def _read_config(folder: Folder) -> dict[str, ConfigValue]:
    try:
        config: dict[str, ConfigValue] = _decode_config(_whole(folder, CONFIG, _CONFIG_LIMIT_BYTES))  # type: ignore[assignment]
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        problem = f"is no config ({error}); expected a JSON object. Fetch it again."
        raise FormatError(folder.join(CONFIG), 0, problem) from None
    return config


def _shards(folder: Folder, index_name: str, index: _Index) -> list[str]:
    """Return the files an index lists, sorted; none may lie outside of its folder."""
    shards = sorted(set(index.weight_map.values()))
    for shard in shards:
        if not folder.encloses(shard):
            problem = f"lists the file {quoted(shard)}; expected plain names of files in its own folder."
            raise FormatError(folder.join(index_name), 0, f"{problem} Do not use this model.")
    missing = [shard for shard in shards if not folder.has(shard)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        problem = f"{listed(missing)} {verb} missing; expected all {len(shards)} files that {index_name} lists."
        raise SourceError(folder.location, f"{problem} Fetch the rest.")
    return shards


def _against_index(folder: Folder, index_name: str, index: _Index, headers: Sequence[FileHeader]) -> list[str]:
    """Compare the files with their index: a tensor that it lists must be where it says."""
    places = index.weight_map
    unlisted: list[str] = []
    for header in headers:
        for tensor in header.tensors:
            if places.get(tensor.name) == header.name:
                del places[tensor.name]
            else:
                unlisted.append(tensor.name)
    if places:
        name, shard = next(iter(places.items()))
        problem = f"lists {quoted(name)} in {quoted(shard)}; expected that file to hold it. Fetch both again."
        raise FormatError(folder.join(index_name), 0, problem)
    notes = []
    if unlisted:
        notes.append(f"{index_name} does not list {listed([quoted(name) for name in unlisted])}")
    stated = index.metadata.total_size if index.metadata else None
    held = sum(header.tensor_bytes for header in headers)
    if stated is not None and stated != held:
        notes.append(f"{index_name} states {stated:,} bytes in all; the files hold {held:,}")
    return notes

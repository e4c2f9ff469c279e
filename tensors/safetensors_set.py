"""A safetensors model: one file, or the shards that an index or their names list, with the config.json beside them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from tensors import architecture, safetensors
from tensors.errors import FormatError, SourceError
from tensors.gathered import Gathered, shapes_of
from tensors.header import whole
from tensors.parts import CONFIG, INDEX_SUFFIX, listed, missing, part_name, set_of
from tensors.safetensors_index import Index, read_index
from tensors.text import decoder_problem, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensors.header import FileHeader
    from tensors.metadata import ConfigValue
    from tensors.sources import Folder

__all__ = ["gather"]

_NOTHING = memoryview(b"")

_CONFIG_LIMIT_BYTES = 2**20
_UNDECODABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)
_decode_config = msgspec.json.Decoder(dict[str, object]).decode


def gather(folder: Folder, name: str, *, allow_unknown_types: bool) -> Gathered:
    """Read the headers of the file `name`, of all shards of its set, and the config.json of the folder."""
    index_name = _index_of(folder, name)
    index = read_index(folder, index_name) if index_name else None
    shards = _shards(folder, index) if index else set_of(folder, name)
    config = _read_config(folder) if folder.has(CONFIG) else {}
    headers: list[FileHeader] = []
    digest = hashlib.sha256()

    def header_of(shard: str) -> FileHeader:
        with folder.open(shard) as source:
            return safetensors.read_header(source, allow_unknown_types=allow_unknown_types)

    for header in folder.each(header_of, shards):
        digest.update(header.raw)
        headers.append(header._replace(raw=_NOTHING))
    notes = _against_index(index, headers) if index else []
    shapes = shapes_of(headers)
    found = architecture.from_config(config, shapes)
    notes += architecture.disagreements(architecture.from_config(config, {}), found)
    if not config:
        notes.append(f"there is no {CONFIG} beside the tensors: what they do not show of the architecture is unknown")
    return Gathered(
        name=folder.name or name,
        format="safetensors",
        headers=headers,
        architecture=found,
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


def _read_config(folder: Folder) -> dict[str, ConfigValue]:
    try:
        with folder.open(CONFIG) as source:
            text = whole(source, _CONFIG_LIMIT_BYTES)
        config: dict[str, ConfigValue] = _decode_config(text)  # type: ignore[assignment]
    except _UNDECODABLE as error:
        problem = f"is no config: {decoder_problem(error)}; expected a JSON object. Fetch it again."
        raise FormatError(folder.join(CONFIG), 0, problem) from None
    return config


def _shards(folder: Folder, index: Index) -> list[str]:
    """Return the files an index lists, sorted; none may lie outside of its folder."""
    shards = sorted(index.shards())
    for shard in shards:
        if not folder.encloses(shard):
            problem = f"lists the file {quoted(shard)}; expected plain names of files in its own folder."
            raise FormatError(index.location, 0, f"{problem} Do not use this model.")
    absent = missing(folder, shards)
    if absent:
        verb = "is" if len(absent) == 1 else "are"
        problem = f"{listed(absent)} {verb} missing; expected every file that {index.name} lists."
        raise SourceError(folder.location, f"{problem} Fetch the rest.")
    return shards


def _against_index(index: Index, headers: Sequence[FileHeader]) -> list[str]:
    """Compare the files with their index: a tensor that it lists must be where it says."""
    holders = {tensor.name: header.name for header in headers for tensor in header.tensors}
    for places in index.places():
        for name, shard in places.items():
            if holders.pop(name, None) != shard:
                problem = f"lists {quoted(name)} in {quoted(shard)}; expected that file to hold it."
                raise FormatError(index.location, 0, f"{problem} Fetch both again.")
    notes = []
    if holders:
        notes.append(f"{index.name} does not list {listed([quoted(name) for name in holders])}")
    held = sum(header.tensor_bytes for header in headers)
    if index.total_size is not None and index.total_size != held:
        notes.append(f"{index.name} states {index.total_size:,} bytes in all; the files hold {held:,}")
    return notes

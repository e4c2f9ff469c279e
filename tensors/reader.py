"""From a location to an inventory: find the files, read their headers, ask for the architecture, group the tensors."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from tensors import architecture as architectures
from tensors import gguf
from tensors.errors import FormatError
from tensors.grouping import group
from tensors.inventory import Inventory, ModelFile
from tensors.parts import choose, part_name, set_of
from tensors.sources import open_location
from tensors.text import quoted

if TYPE_CHECKING:
    import os

    from tensors.header import FileHeader
    from tensors.metadata import MetadataValue
    from tensors.sources import Folder

__all__ = ["read"]


def read(location: str | os.PathLike[str], *, allow_unknown_types: bool = False) -> Inventory:
    """Read the headers of a model: a file, any part of a set, or a folder.

    With `allow_unknown_types`, tensors of types that are not known are listed with the bytes they take up in the file;
    without it the first of them is an error.

    Raises:
        SourceError: a file is missing or cannot be read.
        FormatError: a header is not sound.
    """
    folder, name = open_location(location)
    return _read_gguf(folder, name or choose(folder), allow_unknown_types=allow_unknown_types)


def _read_gguf(folder: Folder, name: str, *, allow_unknown_types: bool) -> Inventory:
    headers = []
    digest = hashlib.sha256()
    for part in set_of(folder, name):
        with folder.open(part) as source:
            header = gguf.read_header(source, allow_unknown_types=allow_unknown_types)
        digest.update(header.raw)
        headers.append(header._replace(raw=b""))
    _check_split(headers)
    metadata: dict[str, MetadataValue] = {}
    for header in reversed(headers):
        metadata.update(header.metadata)
    shapes = {tensor.name: tensor.shape for header in headers for tensor in header.tensors}
    architecture = architectures.from_gguf(metadata, shapes)
    grouping = group(headers, architecture)
    title = metadata.get("general.name")
    first = part_name(headers[0].name)
    return Inventory(
        name=title if isinstance(title, str) and title else (first.stem if first else headers[0].name),
        format="gguf",
        files=tuple(_model_file(header) for header in headers),
        tensors=grouping.tensors,
        trunk_blocks=grouping.trunk_blocks,
        nextn_blocks=grouping.nextn_blocks,
        tied=grouping.tied,
        architecture=architecture,
        header_sha256=digest.hexdigest(),
        notes=grouping.notes + tuple(_incomplete(header) for header in headers if header.missing_bytes),
    )


def _check_split(headers: list[FileHeader]) -> None:
    """Refuse files that say of themselves that they belong to another set."""
    names: set[str] = set()
    for number, header in enumerate(headers):
        stated_count, stated_number = header.metadata.get("split.count", 0), header.metadata.get("split.no", number)
        if stated_count not in {0, len(headers)} and not (stated_count == 1 == len(headers)):
            raise FormatError(
                header.location,
                0,
                f"says that it is one of {stated_count} parts; expected {len(headers)} by its name. "
                "Give the parts their names back: NAME-00001-of-00006.gguf.",
            )
        if stated_number != number:
            problem = f"says that it is part {stated_number} counted from 0; expected part {number} by its name."
            raise FormatError(header.location, 0, f"{problem} Give the parts their names back.")
        for tensor in header.tensors:
            if tensor.name in names:
                problem = f"tensor {quoted(tensor.name)} is in another part too; expected every name once."
                raise FormatError(header.location, tensor.offset, f"{problem} Fetch the set again.")
            names.add(tensor.name)


def _model_file(header: FileHeader) -> ModelFile:
    return ModelFile(
        name=header.name,
        size_bytes=header.size_bytes,
        header_bytes=header.size_bytes + header.missing_bytes - header.tensor_bytes - header.padding_bytes,
        tensor_bytes=header.tensor_bytes,
        padding_bytes=header.padding_bytes,
        missing_bytes=header.missing_bytes,
    )


def _incomplete(header: FileHeader) -> str:
    return f"{header.name} ends {header.missing_bytes:,} bytes before the last of its tensors; its header is sound"

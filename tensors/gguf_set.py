"""A GGUF model: one file, or all parts of a split set."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from tensors import architecture, gguf
from tensors.errors import FormatError
from tensors.gathered import Gathered, shapes_of
from tensors.parts import part_name, set_of
from tensors.text import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensors.header import FileHeader
    from tensors.metadata import MetadataValue
    from tensors.sources import Folder

__all__ = ["gather"]

_NOTHING = memoryview(b"")


def gather(folder: Folder, name: str, *, allow_unknown_types: bool) -> Gathered:
    """Read the headers of the file `name` and of all parts of its set."""
    headers: list[FileHeader] = []
    digest = hashlib.sha256()

    def header_of(part: str) -> FileHeader:
        with folder.open(part) as source:
            return gguf.read_header(source, allow_unknown_types=allow_unknown_types)

    for header in folder.each(header_of, set_of(folder, name)):
        digest.update(header.raw)
        headers.append(header._replace(raw=_NOTHING))
    _check_split(headers)
    metadata: dict[str, MetadataValue] = {}
    for header in reversed(headers):
        metadata.update(header.metadata)
    return Gathered(
        name=_title(metadata, headers[0].name),
        format="gguf",
        headers=headers,
        architecture=architecture.from_gguf(metadata, shapes_of(headers)),
        header_sha256=digest.hexdigest(),
        notes=(),
    )


def _title(metadata: dict[str, MetadataValue], name: str) -> str:
    title = metadata.get("general.name")
    if isinstance(title, str) and title.strip():
        return title
    part = part_name(name)
    return part.stem if part else name.removesuffix(".gguf")


def _check_split(headers: Sequence[FileHeader]) -> None:
    """Refuse files that say of themselves that they belong to another set, or elsewhere in it."""
    for number, header in enumerate(headers):
        count = header.metadata.get("split.count", 0)
        if count not in {0, len(headers)}:
            problem = f"is one of {_shown(count)} parts by its own word; expected {len(headers)} by its name."
            named = "Give every part its name back, like NAME-00001-of-00006.gguf."
            raise FormatError(header.location, 0, f"{problem} {named}")
        stated = header.metadata.get("split.no", number)
        if stated != number:
            problem = f"is part {_shown(stated)} by its own word, counted from 0; expected part {number} by its name."
            raise FormatError(header.location, 0, f"{problem} Give every part its name back.")
    total = headers[0].metadata.get("split.tensors.count", 0)
    held = sum(len(header.tensors) for header in headers)
    if len(headers) > 1 and total not in {0, held}:
        problem = f"announces {_shown(total)} tensors in all parts; expected the {held:,} that are there."
        raise FormatError(headers[0].location, 0, f"{problem} Fetch the set again.")


def _shown(value: MetadataValue) -> str:
    return f"{value:,}" if isinstance(value, int) else quoted(str(value))

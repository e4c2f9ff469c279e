"""Which files of a folder make up a model: one file, the parts of a split set, or shards with an index."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tensors.errors import SourceError

if TYPE_CHECKING:
    from tensors.sources import Folder

__all__ = ["CONFIG", "MOST_PARTS", "PartName", "choose", "part_name", "set_of"]

CONFIG = "config.json"
INDEX_SUFFIX = ".safetensors.index.json"
MOST_PARTS = 10_000
_PART = re.compile(r"(.+)-(\d{5})-of-(\d{5})(\.gguf|\.safetensors)", re.DOTALL | re.IGNORECASE)
_LISTED = 6


class PartName(NamedTuple):
    """A name such as `model-00002-of-00006.gguf`; `number` counts from 1."""

    stem: str
    number: int
    total: int
    suffix: str

    def sibling(self, number: int) -> str:
        """Return the name of another part of the set."""
        return f"{self.stem}-{number:05}-of-{self.total:05}{self.suffix}"


def part_name(name: str) -> PartName | None:
    """Return what the name of a split file says, or None for a file by itself."""
    match = _PART.fullmatch(name)
    if match is None:
        return None
    number, total = int(match[2]), int(match[3])
    return PartName(match[1], number, total, match[4]) if 1 <= number <= total <= MOST_PARTS else None


def set_of(folder: Folder, name: str) -> tuple[str, ...]:
    """Return all file names of the set that `name` belongs to, in order.

    Raises:
        SourceError: a part is not there; the message names it.
    """
    part = part_name(name)
    if part is None:
        return (name,)
    names = tuple(part.sibling(number) for number in range(1, part.total + 1))
    missing = [sibling for sibling in names if not folder.has(sibling)]
    if missing:
        shown = ", ".join(missing[:_LISTED]) + (f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else "")
        raise SourceError(
            folder.location,
            f"{shown} {'is' if len(missing) == 1 else 'are'} missing; expected all {part.total} parts of {name} in one "
            "folder. Fetch the rest.",
        )
    return names


def choose(folder: Folder) -> str:
    """Return the file that stands for a folder: its index, its safetensors, or its only GGUF model.

    Raises:
        SourceError: the folder holds no model, or several.
    """
    names = folder.names()
    for suffix in (INDEX_SUFFIX, ".safetensors", ".gguf"):
        found = [name for name in names if name.lower().endswith(suffix) and not name.lower().startswith("mmproj")]
        leaders = [name for name in found if (part_name(name) or PartName("", 1, 1, "")).number == 1] or found[:1]
        if len(leaders) > 1:
            leaders = [name for name in leaders if name.startswith("model")] if suffix != ".gguf" else leaders
        if len(leaders) == 1:
            return leaders[0]
        if found:
            shown = ", ".join(found[:_LISTED]) + (", …" if len(found) > _LISTED else "")
            raise SourceError(folder.location, f"the folder holds several models ({shown}); expected one. Name a file.")
    raise SourceError(
        folder.location,
        "the folder holds no model; expected a .gguf file, or .safetensors files with a config.json. Check the path.",
    )

"""Which files of a folder make up a model: one file, the parts of a split set, or shards with an index."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from tensors.errors import SourceError
from tensors.text import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tensors.sources import Folder

__all__ = ["CONFIG", "INDEX_SUFFIX", "PartName", "choose", "listed", "missing", "part_name", "set_of"]

CONFIG: Final = "config.json"
INDEX_SUFFIX: Final = ".safetensors.index.json"
_MOST_PARTS = 10_000
_PART = re.compile(r"(.+)-([0-9]{5})-of-([0-9]{5})(\.gguf|\.safetensors)", re.DOTALL | re.IGNORECASE)
_LISTED = 4


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
    return PartName(match[1], number, total, match[4]) if 1 <= number <= total <= _MOST_PARTS else None


def set_of(folder: Folder, name: str) -> tuple[str, ...]:
    """Return all file names of the set that `name` belongs to, in order.

    Raises:
        SourceError: a part is not there; the message names it.
    """
    part = part_name(name)
    if part is None:
        return (name,)
    names = tuple(part.sibling(number) for number in range(1, part.total + 1))
    absent = missing(folder, names)
    if absent:
        verb = "is" if len(absent) == 1 else "are"
        problem = f"{listed(absent)} {verb} missing; expected all {part.total} parts of {part.stem} in one folder."
        raise SourceError(folder.location, f"{problem} Fetch the rest.")
    return names


def missing(folder: Folder, names: Sequence[str]) -> list[str]:
    """Return the names that a folder does not have."""
    return [name for name, there in zip(names, folder.each(folder.has, names), strict=True) if not there]


def choose(folder: Folder) -> str:
    """Return the file that stands for a folder: its index, its safetensors file, or its GGUF model.

    Raises:
        SourceError: the folder holds no model, or several.
    """
    names = [name for name in folder.names() if not name.lower().startswith("mmproj")]
    for suffix in (INDEX_SUFFIX, ".safetensors", ".gguf"):
        found = _models(names, suffix)
        if len(found) == 1:
            return found[0]
        preferred = f"model{suffix}"
        if preferred in found:
            return preferred
        if found:
            problem = f"holds {len(found)} models, {listed(found)}; expected one. Name the file that you mean."
            raise SourceError(folder.location, problem)
    expected = f"expected a .gguf file, or .safetensors files with a {CONFIG}"
    raise SourceError(folder.location, f"the folder holds no model; {expected}. Check the path.")


def _models(names: Sequence[str], suffix: str) -> list[str]:
    """Return one name for every model among the files with a suffix: the first of a split set that is there."""
    models: dict[str, str] = {}
    for name in names:
        if name.lower().endswith(suffix):
            part = part_name(name)
            models.setdefault(part.stem if part else name, name)
    return list(models.values())


def listed(names: Sequence[str]) -> str:
    """Return names as one phrase, of many only the first few; a name that is not printable is quoted and escaped."""
    shown = [name if name.isprintable() else quoted(name) for name in names[:_LISTED]]
    if len(names) > _LISTED:
        return f"{', '.join(shown)} and {len(names) - _LISTED:,} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))

"""Which models the files of a repository make up, and which of them a person means."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from tensors.errors import SourceError
from tensors.parts import INDEX_SUFFIX, part_name
from tensors.text import quoted
from tensors.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["ModelSet", "chosen", "selected", "sets_of"]

_GGUF, _SAFETENSORS = ".gguf", ".safetensors"
_COMPANIONS = ("mmproj", "imatrix")
_SEPARATORS = ("-", ".", "_")
_MOST_LISTED = 32


class ModelSet(NamedTuple):
    """One model of a repository.

    `label` is what selects it and `stem` the same without endings; `first` is the path of the file that stands for it,
    `parts` are those of its tensors. `size_bytes` is None where the listing does not say it.
    """

    label: str
    stem: str
    first: str
    parts: tuple[str, ...]
    size_bytes: int | None

    @property
    def folder(self) -> str:
        """Return the path of its folder, "" for the top."""
        return self.first.rpartition("/")[0]

    def described(self) -> str:
        """Return its label with how large it is."""
        facts = [] if len(self.parts) == 1 else [f"{len(self.parts)} files"]
        facts += [] if self.size_bytes is None else [format_bytes(self.size_bytes)]
        label = self.label if self.label.isprintable() else quoted(self.label)
        return f"{label} ({', '.join(facts)})" if facts else label


def sets_of(sizes: Mapping[str, int | None]) -> tuple[ModelSet, ...]:
    """Return the models that files make up, by their paths: split GGUF sets count once, an index with its shards.

    Files that accompany a model are none: projectors and importance matrices. Where a folder has safetensors called
    `model`, the others beside it are the same in another layout, or adapters.
    """
    sets: list[ModelSet] = []
    for _, paths in groupby(sorted(sizes, key=_folder_and_name), key=lambda path: _folder_and_name(path)[0]):
        names = {path.rpartition("/")[2]: path for path in paths}
        sets += _gguf_sets(names, sizes)
        shards = list(_safetensors_sets(names, sizes))
        preferred = [one for one in shards if one.stem.rpartition("/")[2] == "model"]
        sets += preferred or shards
    return tuple(sets)


def chosen(sets: Sequence[ModelSet], text: str, location: str) -> ModelSet:
    """Return the one model that a text selects: a path of it, a folder, or the end of its name such as `Q4_K_M`.

    Raises:
        SourceError: there is none, or more than one; the message lists them.
    """
    found = selected(sets, text, location)
    if len(found) == 1:
        return found[0]
    problem = f"{len(found)} models are here: {_listed(found)}; expected one. Add the name of the one that you mean."
    raise SourceError(location, problem)


def selected(sets: Sequence[ModelSet], text: str, location: str) -> list[ModelSet]:
    """Return all models that a text selects, as for `chosen`: at least one.

    Raises:
        SourceError: there is none; the message lists what there is.
    """
    if not sets:
        raise SourceError(location, "holds no model; expected .gguf or .safetensors files. Check the name.")
    found = [one for one in sets if _selects(text.casefold(), one)]
    if not found:
        problem = f"no model is called so; expected one of {_listed(sets)}. Name one of them."
        raise SourceError(location, problem)
    return found


def _folder_and_name(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name


def _gguf_sets(names: Mapping[str, str], sizes: Mapping[str, int | None]) -> Iterator[ModelSet]:
    models = [n for n in names if n.lower().endswith(_GGUF) and not any(word in n.lower() for word in _COMPANIONS)]
    yield from _stem_sets(_by_stem(models, _GGUF), names, sizes)


def _safetensors_sets(names: Mapping[str, str], sizes: Mapping[str, int | None]) -> Iterator[ModelSet]:
    shards = _by_stem([name for name in names if name.lower().endswith(_SAFETENSORS)], _SAFETENSORS)
    indexes = {name.removesuffix(INDEX_SUFFIX): path for name, path in names.items() if name.endswith(INDEX_SUFFIX)}
    for stem in sorted(indexes, key=lambda stem: stem not in shards):
        members = shards.pop(stem, [])
        if not members:
            # Shards may be called as they like; an index without any of its own name has what is left.
            members = [name for others in shards.values() for name in others]
            shards.clear()
        paths = tuple(names[member] for member in members)
        yield ModelSet(
            indexes[stem], indexes[stem].removesuffix(INDEX_SUFFIX), indexes[stem], paths, _sum(paths, sizes)
        )
    yield from _stem_sets(shards, names, sizes)


def _stem_sets(
    stems: Mapping[str, Sequence[str]], names: Mapping[str, str], sizes: Mapping[str, int | None]
) -> Iterator[ModelSet]:
    """Yield a model for all files that share a stem."""
    for stem, members in stems.items():
        paths = tuple(names[member] for member in members)
        place = paths[0].removesuffix(members[0]) + stem
        yield ModelSet(paths[0] if len(paths) == 1 else place, place, paths[0], paths, _sum(paths, sizes))


def _by_stem(names: Iterable[str], suffix: str) -> dict[str, list[str]]:
    """Return names by what the parts of a split set share."""
    found: dict[str, list[str]] = {}
    for name in names:
        part = part_name(name)
        found.setdefault(part.stem if part else name[: -len(suffix)], []).append(name)
    return found


def _sum(paths: Iterable[str], sizes: Mapping[str, int | None]) -> int | None:
    total = 0
    for path in paths:
        size = sizes[path]
        if size is None:
            return None
        total += size
    return total


def _selects(text: str, one: ModelSet) -> bool:
    paths = {path.casefold() for path in (one.label, one.stem, one.first, *one.parts)}
    folder, name = _folder_and_name(one.stem.casefold())
    return (
        text in {"", folder, name}
        or text in paths
        or folder.startswith(f"{text}/")
        or text in folder.split("/")
        or any(name.endswith(separator + text) for separator in _SEPARATORS)
    )


def _listed(sets: Sequence[ModelSet]) -> str:
    shown = [one.described() for one in sets[:_MOST_LISTED]]
    if len(sets) > _MOST_LISTED:
        return f"{', '.join(shown)} and {len(sets) - _MOST_LISTED:,} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))

"""From a location to an inventory: find the files, read their headers, ask for the architecture, group the tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tensors.errors import ArchitectureError, FormatError, SourceError, TensorsError
from tensors.grouping import group
from tensors.inventory import Inventory, ModelFile
from tensors.parts import CONFIG, choose
from tensors.sources import TIME_LIMIT_SECONDS, visit, visit_every

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from tensors.gathered import Gathered
    from tensors.header import FileHeader
    from tensors.sources import Folder

__all__ = ["Unread", "read", "read_every", "read_from", "unread"]


def read(
    location: str | os.PathLike[str],
    *,
    allow_unknown_types: bool = False,
    cache: bool = True,
    time_limit_seconds: float = TIME_LIMIT_SECONDS,
) -> Inventory:
    """Read the headers of a model: a GGUF or safetensors file, any part of a set, an index, or a folder.

    It may be distant: `https://HOST/FILE` or `hf://ORG/REPO[@REVISION][/FILE]`. Then all headers are read within the
    time limit, and with `cache` they are kept on disk.

    With `allow_unknown_types`, tensors of types that are not known are listed with the bytes they take up in the file;
    without it the first of them is an error.

    Raises:
        SourceError: a file is missing or cannot be read.
        FormatError: a header is not sound.
    """

    def read_here(folder: Folder, name: str | None) -> Inventory:
        return read_from(folder, name, allow_unknown_types=allow_unknown_types)

    return visit(location, read_here, cache=cache, time_limit_seconds=time_limit_seconds)


class Unread(NamedTuple):
    """A model whose headers cannot be read: `name` tells it apart from others, `problem` says what is wrong with it."""

    name: str
    problem: str


def read_every(
    location: str | os.PathLike[str], *, cache: bool = True, time_limit_seconds: float = TIME_LIMIT_SECONDS
) -> tuple[Inventory | Unread, ...]:
    """Read the headers of every model at a location: in a folder and the folders in it, or in a repository.

    Of several, those that cannot be read are named. Tensors of types that are not known are listed with the bytes they
    take up in the file.

    Raises:
        SourceError, FormatError: as for `read`, where there is one model.
    """

    def read_here(places: Sequence[tuple[Folder, str]]) -> tuple[Inventory | Unread, ...]:
        folders = {folder.location for folder, _ in places}
        found: list[Inventory | Unread] = []
        for folder, name in places:
            try:
                found.append(read_from(folder, name, allow_unknown_types=True))
            except TensorsError as error:
                if len(places) == 1:
                    raise
                found.append(unread(f"{folder.name}/{name}" if len(folders) > 1 else name, error))
        return tuple(found)

    return visit_every(location, read_here, cache=cache, time_limit_seconds=time_limit_seconds)


def unread(name: str, error: TensorsError) -> Unread:
    """Return a model under a name of its own with what is wrong, without the place that the error repeats."""
    match error:
        case FormatError():
            return Unread(name, f"byte {error.offset:,}: {error.problem}")
        case SourceError() | ArchitectureError():
            return Unread(name, error.problem)
        case _:
            return Unread(name, str(error))


def read_from(folder: Folder, name: str | None, *, allow_unknown_types: bool) -> Inventory:
    """Read the headers of the model that a file of a folder belongs to.

    Without a name, and by its config.json, a folder stands for its only model.
    """
    chosen = choose(folder) if name is None or name == CONFIG else name
    model = _gather(folder, chosen, allow_unknown_types=allow_unknown_types)
    grouping = group(model.headers, model.architecture)
    return Inventory(
        name=model.name,
        format=model.format,
        files=tuple(_model_file(header) for header in model.headers),
        tensors=grouping.tensors,
        trunk_blocks=grouping.trunk_blocks,
        nextn_blocks=grouping.nextn_blocks,
        tied=grouping.tied,
        architecture=model.architecture,
        header_sha256=model.header_sha256,
        notes=(*model.notes, *grouping.notes, *(_cut_short(h) for h in model.headers if h.missing_bytes)),
    )


def _gather(folder: Folder, name: str, *, allow_unknown_types: bool) -> Gathered:
    # The readers are imported where they are needed: each brings tables, and one of them a JSON decoder.
    if name.lower().endswith((".safetensors", ".json")):
        from tensors import safetensors_set  # noqa: PLC0415

        return safetensors_set.gather(folder, name, allow_unknown_types=allow_unknown_types)
    from tensors import gguf_set  # noqa: PLC0415

    return gguf_set.gather(folder, name, allow_unknown_types=allow_unknown_types)


def _model_file(header: FileHeader) -> ModelFile:
    return ModelFile(
        name=header.name,
        size_bytes=header.size_bytes,
        header_bytes=header.size_bytes + header.missing_bytes - header.tensor_bytes - header.padding_bytes,
        tensor_bytes=header.tensor_bytes,
        padding_bytes=header.padding_bytes,
        missing_bytes=header.missing_bytes,
    )


def _cut_short(header: FileHeader) -> str:
    amount = "1 byte" if header.missing_bytes == 1 else f"{header.missing_bytes:,} bytes"
    return f"{header.name} ends {amount} before the end of its tensors; its header is sound"

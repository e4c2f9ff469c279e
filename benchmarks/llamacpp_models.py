"""The models that runs were made with, from header-only files; a split set of which one part is there is put together.

Its tensors are those of another file of the folder, cut where a run that mapped all of it says that its files end.
"""

from __future__ import annotations

import tarfile
from dataclasses import replace
from typing import TYPE_CHECKING

from tensors.errors import SourceError
from tensors.gguf import read_header
from tensors.reader import read
from tensors.sources import FileSource

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.llamacpp_rows import Row
    from tensors.inventory import Inventory

__all__ = ["read_models", "unpack_headers"]


def unpack_headers(folder: Path, target: Path) -> None:
    """Unpack `headers.tar.xz` with its holes kept: the files are up to hundreds of GB long."""
    with tarfile.open(folder / "headers.tar.xz") as archive:
        archive.extractall(target, filter="data")


def read_models(rows: Sequence[Row]) -> dict[str, Inventory]:
    """Return the model of every path that rows name; one that cannot be read or put together is left out."""
    models: dict[str, Inventory] = {}
    incomplete: dict[str, list[Row]] = {}
    for row in rows:
        path = str(row.path)
        if path in models:
            continue
        if path not in incomplete:
            try:
                models[path] = read(path)
                continue
            except SourceError:
                incomplete[path] = []
        incomplete[path].append(row)
    for path, runs in incomplete.items():
        model = _put_together(runs, list(models.values()))
        if model is not None:
            models[path] = model
    return models


def _put_together(runs: Sequence[Row], models: Sequence[Inventory]) -> Inventory | None:
    with FileSource(runs[0].path) as source:
        header = read_header(source, allow_unknown_types=False)
    count, parts = header.metadata.get("split.tensors.count"), header.metadata.get("split.count")
    first = {(tensor.name, tensor.shape, tensor.type) for tensor in header.tensors}
    whole = next((run for run in runs if run.has_buffers and not run.repacks and _is_all_on_host(run)), None)
    for model in models:
        found = {(tensor.name, tensor.shape, tensor.type) for tensor in model.tensors}
        if first <= found and len(model.tensors) == count and whole is not None:
            cut = _cut(model, whole.mapped_spans)
            return cut if cut is not None and len(cut.files) == parts else None
    return None


def _is_all_on_host(run: Row) -> bool:
    return set(run.slots) == {"Host"}


def _cut(model: Inventory, spans: Sequence[int]) -> Inventory | None:
    """Return a model as several files of these lengths, None where they do not end where its tensors do."""
    tensors = []
    file, start = 0, model.tensors[0].offset
    for tensor in model.tensors:
        if file < len(spans) and tensor.offset + tensor.size_bytes - start > spans[file]:
            file, start = file + 1, tensor.offset
        tensors.append(replace(tensor, file=file))
    if file + 1 != len(spans):
        return None
    return replace(model, tensors=tuple(tensors), files=model.files * len(spans))

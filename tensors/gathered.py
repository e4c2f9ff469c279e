"""What reading all files of a model gives, before its tensors are grouped: the same for every format."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tensors.errors import FormatError
from tensors.text import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tensors.architecture import Architecture
    from tensors.header import FileHeader

__all__ = ["Gathered", "shapes_of"]


class Gathered(NamedTuple):
    """The headers of a model in order, its architecture, and the digest of all header bytes."""

    name: str
    format: str
    headers: Sequence[FileHeader]
    architecture: Architecture
    header_sha256: str
    notes: tuple[str, ...]


def shapes_of(headers: Sequence[FileHeader]) -> Mapping[str, tuple[int, ...]]:
    """Return the shape of every tensor by its name.

    Raises:
        FormatError: two files hold a tensor of the same name.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    for header in headers:
        held = len(shapes)
        shapes.update((tensor.name, tensor.shape) for tensor in header.tensors)
        if len(shapes) != held + len(header.tensors):
            raise _twice(headers)
    return shapes


def _twice(headers: Sequence[FileHeader]) -> FormatError:
    places: dict[str, str] = {}
    for header in headers:
        for tensor in header.tensors:
            if tensor.name in places:
                problem = f"tensor {quoted(tensor.name)} is in {places[tensor.name]} too; expected every name once."
                return FormatError(header.location, tensor.offset, f"{problem} Fetch the files again.")
            places[tensor.name] = header.name
    raise AssertionError("called for names that are there once")

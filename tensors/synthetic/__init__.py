"""Header-only model files of known shapes, for demonstrations and tests.

Every size follows from architecture arithmetic. The files are sparse: a header, then a hole as long as the tensors.
Nothing is downloaded and no weight exists.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tensors.errors import SourceError
from tensors.synthetic import facts, layouts
from tensors.synthetic.gguf_files import write_gguf
from tensors.synthetic.registry import MODELS, Model
from tensors.synthetic.safetensors_files import write_safetensors
from tensors.synthetic.shapes import GroupedShape, LatentExpertShape, MixtureShape
from tensors.text import quoted, within_sentence

if TYPE_CHECKING:
    import os

    from tensors.inventory import Inventory

__all__ = ["EXAMPLE", "MODELS", "Model", "example_inventory", "write"]

EXAMPLE = "glm-5.2"
"""The model of the built-in example."""


def write(name: str, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write the files of a known model into a folder, which is made if need be; return them in order.

    The first file, like any other part, is a location that `tensors.read` takes.

    Raises:
        SourceError: no such model, a file that is there already, or a folder that cannot be written.
    """
    model = MODELS.get(name)
    if model is None:
        raise SourceError(quoted(name), f"is not a built-in model; expected one of {', '.join(sorted(MODELS))}.")
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        # Written beside the folder's other files and moved in whole, so that nothing there is ever written over.
        with tempfile.TemporaryDirectory(prefix=".layerfit-", dir=place) as work:
            written = _write(model, Path(work))
            for file in written:
                if (place / file.name).exists():
                    raise SourceError(
                        str(place / file.name), "is there already; nothing was written. Choose another folder."
                    )
            return tuple(file.rename(place / file.name) for file in written)
    except OSError as error:
        reason = within_sentence(error.strerror or type(error).__name__)
        raise SourceError(str(place), f"cannot be written: {reason}. Choose another folder.") from error


def example_inventory() -> Inventory:
    """Return the inventory of the built-in example, read from files that are gone when this returns.

    Raises:
        SourceError: the folder for temporary files cannot be written.
    """
    from tensors.reader import read  # noqa: PLC0415 (who writes files need not read them)

    with tempfile.TemporaryDirectory(prefix="layerfit-") as folder:
        return read(write(EXAMPLE, folder)[0])


def _write(model: Model, folder: Path) -> tuple[Path, ...]:
    path = folder / f"{model.file_name}.gguf"
    match model.shape:
        case MixtureShape() as shape:
            pieces = tuple(layouts.mixture(shape))
            return write_safetensors(folder, model.file_name, facts.mixture(shape), pieces, model.part_bytes)
        case LatentExpertShape() as shape:
            pieces = tuple(layouts.latent_expert(shape))
            keys: facts.Facts = {"general.name": model.file_name, **facts.latent_expert(shape)}
            return write_gguf(path, "glm-dsa", keys, pieces, mix=model.mix, part_bytes=model.part_bytes)
        case GroupedShape() as shape:
            pieces = tuple(layouts.grouped(shape))
            keys = {"general.name": model.file_name, **facts.grouped(shape)}
            return write_gguf(path, "llama", keys, pieces, mix=model.mix, part_bytes=model.part_bytes)

"""Where the public instances are, and what is said where they are not."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["AbsentDataError", "PublicDataError", "instances_folder"]

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


class PublicDataError(Exception):
    """A public file is not there or does not say what it should; the message says where and what to do."""


class AbsentDataError(PublicDataError):
    """A public file is not there, which is said and leaves out what is made of it."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path.name}: no such file or directory. docs/benchmarks.md names the folder of data.")
        self.path = path


def instances_folder() -> Path | None:
    """Return the folder of public instances, or None where there is none.

    It is `instances` in the folder that LAYERFIT_DATA names, else in `shared/data` beside the repository.
    """
    named = os.environ.get("LAYERFIT_DATA")
    folder = (Path(named) if named else _BESIDE) / "instances"
    return folder if folder.is_dir() else None

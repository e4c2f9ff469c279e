"""How commands read MODEL: what it may be, and the flags for models that are not on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from solver.cli.flag_kinds import SECONDS
from tensors.sources import TIME_LIMIT_SECONDS

if TYPE_CHECKING:
    from tensors.inventory import Inventory
    from tensors.reader import Unread

__all__ = ["MODEL", "MODEL_HELP", "ReadOptions"]

MODEL_HELP = (
    "A GGUF or safetensors file, any part of a split set, a folder, an https:// address of a file, "
    "or hf://ORG/REPO[@REVISION][/FILE]."
)

MODEL = Parameter(metavar="MODEL", help=MODEL_HELP)
"""How a command describes its first argument."""


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How a model is read that is not on this machine."""

    no_cache: Annotated[
        bool, Parameter(show_default=False, help="Keep no headers of distant models, and use none that were kept.")
    ] = False
    read_timeout: Annotated[
        float,
        SECONDS,
        Parameter(help="Seconds for all headers of a distant model."),
    ] = TIME_LIMIT_SECONDS

    def read(self, model: str, *, allow_unknown_types: bool = False) -> Inventory:
        """Return the inventory of a model.

        Raises:
            TensorsError: it cannot be read.
        """
        # The readers are imported where a model is named, and nowhere else.
        from tensors.reader import read  # noqa: PLC0415

        return read(
            model,
            allow_unknown_types=allow_unknown_types,
            cache=not self.no_cache,
            time_limit_seconds=self.read_timeout,
        )

    def read_every(self, model: str) -> tuple[Inventory | Unread, ...]:
        """Return the inventories of all models at a location, and the names of those that cannot be read.

        Raises:
            TensorsError: one cannot be read.
        """
        from tensors.reader import read_every  # noqa: PLC0415 - as above

        return read_every(model, cache=not self.no_cache, time_limit_seconds=self.read_timeout)

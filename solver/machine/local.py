"""The computer that runs this program, as a `Machine`."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from solver.machine.machine import LibraryCard

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LocalMachine"]

_LARGEST_TEXT: Final = 2**20
_MOST_NAMES: Final = 4096
_MOST_CARDS: Final = 256
_PATIENCE_SECONDS: Final = 20.0
"""Drivers that have slept take seconds to answer."""


class LocalMachine:
    """Asks the computer that runs this program, with commands in the plain language of the system."""

    @property
    def system(self) -> str:
        """Return the name of the operating system."""
        return platform.system()

    @property
    def host_name(self) -> str:
        """Return the computer's name."""
        return platform.node()

    def text(self, path: str) -> str | None:
        """Return the text of a file, at most its first MiB."""
        try:
            with Path(path).open("rb") as file:
                return file.read(_LARGEST_TEXT).decode("utf-8", "replace")
        except (OSError, ValueError):
            return None

    def names(self, folder: str) -> tuple[str, ...]:
        """Return the names in a folder, sorted, at most some thousand."""
        try:
            return tuple(sorted(os.listdir(folder))[:_MOST_NAMES])  # noqa: PTH208 - names, not paths
        except (OSError, ValueError):
            return ()

    def output(self, *command: str) -> str | None:
        """Return what a command writes to its standard output."""
        try:
            ran = subprocess.run(  # noqa: S603 - the command is written in this package, and no shell reads it
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_PATIENCE_SECONDS,
                check=False,
                env={**os.environ, "LC_ALL": "C"},
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
        return ran.stdout[:_LARGEST_TEXT].decode("utf-8", "replace") if ran.returncode == 0 else None

    def nvidia_library(self) -> tuple[LibraryCard, ...] | None:
        """Return the cards that NVML lists, where the package `nvidia-ml-py` is installed and finds a driver."""
        try:
            # Nobody needs it: nvidia-smi says the same.
            import pynvml  # noqa: PLC0415

            pynvml.nvmlInit()
        except Exception:  # noqa: BLE001 - a broken driver breaks in many ways, and is no driver
            return None
        try:
            count = min(int(pynvml.nvmlDeviceGetCount()), _MOST_CARDS)
            return tuple(_card(pynvml, index) for index in range(count))
        except Exception:  # noqa: BLE001 - the same
            return None
        finally:
            pynvml.nvmlShutdown()


def _card(library: Any, index: int) -> LibraryCard:  # noqa: ANN401 - a package that need not be installed
    handle = library.nvmlDeviceGetHandleByIndex(index)
    # The second version of the answer says what driver and firmware keep; the first counts it as used.
    memory = _asked(lambda: library.nvmlDeviceGetMemoryInfo(handle, version=library.nvmlMemory_v2))
    memory = memory or _asked(lambda: library.nvmlDeviceGetMemoryInfo(handle))
    divided = _asked(lambda: library.nvmlDeviceGetMigMode(handle)[0])
    return LibraryCard(
        name=_text(library.nvmlDeviceGetName(handle)),
        pci=_text(library.nvmlDeviceGetPciInfo(handle).busId),
        memory_bytes=None if memory is None else int(memory.total),
        reserved_bytes=0 if memory is None else int(getattr(memory, "reserved", 0)),
        used_bytes=None if memory is None else int(memory.used),
        divided=bool(divided),
    )


def _asked(question: Callable[[], Any]) -> Any:  # noqa: ANN401 - the same
    """Return the answer of the library, None where it has none."""
    try:
        return question()
    except Exception:  # noqa: BLE001 - the library's own errors, and those of versions that lack a function
        return None


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)

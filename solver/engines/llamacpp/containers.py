"""What a container's command says of the engine within: its image, its variables, and folders seen inside.

Images and what they start: .devops of the engine's repository (entry points, tools.sh).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from solver.engines.llamacpp.facts import Program

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["CONTAINER_TOOLS", "NAMING", "container_variables", "image_program", "on_this_machine"]

CONTAINER_TOOLS: Final = frozenset({"docker", "podman", "nerdctl"})

NAMING: Final = frozenset({"--name", "--hostname", "-h", "--network-alias", "--entrypoint"})
"""Options whose value may be the name of a program and starts none."""

_IMAGE = re.compile(r"(?:.*/)?llama\.cpp:(server|light|full)(?:-[\w.-]+)?(?:@sha256:[0-9a-f]+)?", re.ASCII)
_IMAGES: Final = {"server": Program.SERVER, "light": Program.CLI}
_FULL_IMAGE: Final = {
    "--server": Program.SERVER,
    "-s": Program.SERVER,
    "--run": Program.CLI,
    "-r": Program.CLI,
    "--run-legacy": Program.COMPLETION,
    "-l": Program.COMPLETION,
    "--bench": Program.BENCH,
    "-b": Program.BENCH,
}


def image_program(words: Sequence[str], position: int) -> tuple[Program, int] | None:
    """Return what the image at a position starts and how many words say so, or None where it is no known image."""
    match = _IMAGE.fullmatch(words[position])
    if match is None:
        return None
    if match[1] in _IMAGES:
        return _IMAGES[match[1]], 1
    chosen = _FULL_IMAGE.get(words[position + 1]) if position + 1 < len(words) else None
    return None if chosen is None else (chosen, 2)


def container_variables(before: Sequence[str]) -> tuple[str, ...]:
    """Return the variables that a container's command sets inside."""
    return tuple(setting.partition("=")[0] for setting in _values(before, ("-e", "--env")) if "=" in setting)


def on_this_machine(before: Sequence[str], word: str) -> str:
    """Return a path as this machine has it, where a folder of this machine is seen inside under another name."""
    for volume in _values(before, ("-v", "--volume")):
        outside, colon, rest = volume.partition(":")
        inside = rest.partition(":")[0].rstrip("/")
        if colon and inside and (word == inside or word.startswith(f"{inside}/")):
            return outside.rstrip("/") + word[len(inside) :]
    return word


def _values(words: Sequence[str], names: tuple[str, ...]) -> Iterator[str]:
    """Yield the values of options, joined to their names or behind them."""
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if word in names and position + 1 < len(words):
            yield words[position + 1]
        elif word[:2] in names and not word.startswith("--"):
            yield word[2:].removeprefix("=")
        elif equals and name in names:
            yield value

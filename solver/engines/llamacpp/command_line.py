"""From a pasted command line to the program that it starts: what stands before it, containers, and lost line ends.

A program is known by its name, behind any path, as a command of `llama` (app/llama.cpp), or as what an image of the
engine starts. What stands before it is noted and not read.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from solver.engines.llamacpp.containers import (
    CONTAINER_TOOLS,
    NAMING,
    container_variables,
    image_program,
    on_this_machine,
)
from solver.engines.llamacpp.facts import Program
from solver.errors import InputError
from solver.wording import either, quoted, suggestion

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CommandLine", "command_line"]

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_ARGUMENT_VARIABLE = "LLAMA_ARG_"
_DRIVE = re.compile(r"(?:^|[\s\"'])[A-Za-z]:\\|(?:^|[\s\"'])\.\\")
_LINE_END = re.compile(r"[\\^`][ \t]*\r?\n")
_KNOWN: Final = tuple(str(program) for program in Program)

# app/llama.cpp, cmds: names and aliases.
_COMMANDS: Final = {
    "serve": Program.SERVER,
    "server": Program.SERVER,
    "cli": Program.CLI,
    "client": Program.CLI,
    "completion": Program.COMPLETION,
    "complete": Program.COMPLETION,
    "bench": Program.BENCH,
    "fit-params": Program.FIT_PARAMS,
}


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A program and the words behind it; notes on what stands before it."""

    program: Program
    words: tuple[str, ...]
    notes: tuple[str, ...]


class _Start(NamedTuple):
    """Where a program is named, and in how many words."""

    position: int
    program: Program
    length: int


def command_line(words: Sequence[str]) -> CommandLine:
    """Return the program that a command line starts, with the words behind it.

    A line that is one word is split as a shell splits it.

    Raises:
        InputError: it starts none of the programs known here, or sets one of the engine's own variables.
    """
    start = _start(words)
    if start is None:
        within = next((parts for parts in map(_split, words) if _start(parts) is not None), None)
        if within is None:
            raise _unknown(words)
        return command_line(within)
    before = words[: start.position]
    outside = next((place for place, word in enumerate(before) if _name(word) in CONTAINER_TOOLS), len(before))
    variables = [word.partition("=")[0] for word in before[:outside] if _ASSIGNMENT.fullmatch(word)]
    _check_variables([*variables, *container_variables(before[outside:])])
    wrapping = " ".join(
        word for place, word in enumerate(before) if place >= outside or not _ASSIGNMENT.fullmatch(word)
    )
    notes = [f"{name} is set before the program; it is not read." for name in variables]
    if wrapping:
        notes.append(f"What stands before the program is not read: {quoted(wrapping)}.")
    behind = words[start.position + start.length :]
    return CommandLine(start.program, tuple(on_this_machine(before, word) for word in behind), tuple(notes))


def _start(words: Sequence[str]) -> _Start | None:
    """Return the first place that names a program and is not the name of something else."""
    contained = False
    for position, word in enumerate(words):
        name = _name(word)
        if contained and position and words[position - 1] in NAMING:
            continue
        if name in _KNOWN:
            return _Start(position, Program(name), 1)
        following = words[position + 1] if position + 1 < len(words) else ""
        if name == "llama" and following in _COMMANDS:
            return _Start(position, _COMMANDS[following], 2)
        contained = contained or name in CONTAINER_TOOLS
        image = image_program(words, position) if contained else None
        if image is not None:
            return _Start(position, *_entry(words[:position], *image))
    return None


def _entry(before: Sequence[str], program: Program, length: int) -> tuple[Program, int]:
    """Return what an image starts where its entry point is replaced, too."""
    for position, word in enumerate(before):
        value = before[position + 1] if word == "--entrypoint" else word.removeprefix("--entrypoint=")
        if word.startswith("--entrypoint") and _name(value) in _KNOWN:
            return Program(_name(value)), 1
    return program, length


def _name(word: str) -> str:
    """Return the name of the program that a word may stand for: the last part of a path, whose marks may be lost."""
    path = word.rpartition("=")[2] if _ASSIGNMENT.fullmatch(word) and word.startswith("Exec") else word
    name = re.split(r"[/\\]", path)[-1]
    if not name.lower().endswith(".exe"):
        return name
    stem = name[: -len(".exe")]
    return next((known for known in _KNOWN if stem.endswith(known)), stem)


def _split(text: str) -> tuple[str, ...]:
    """Return the words of a line, none where its quotes do not close."""
    if not re.search(r"\s", text):
        return ()
    lexer = shlex.shlex(_LINE_END.sub(" ", text), posix=True, punctuation_chars="")
    lexer.whitespace_split, lexer.commenters = True, ""
    if _DRIVE.search(text):
        lexer.escape = ""
    try:
        return tuple(lexer)
    except ValueError:
        return ()


def _check_variables(names: Sequence[str]) -> None:
    for name in names:
        if name.startswith(_ARGUMENT_VARIABLE):
            raise InputError(
                f"variable {name}",
                "it stands for a flag; expected flags alone. Write it as the flag it stands for.",
            )


def _unknown(words: Sequence[str]) -> InputError:
    rest = [word for word in words if not _ASSIGNMENT.fullmatch(word)]
    _check_variables([word.partition("=")[0] for word in words if _ASSIGNMENT.fullmatch(word)])
    if not rest:
        return InputError(
            "command line", f"it is empty; expected {either(_KNOWN)} with its flags. Paste the whole command."
        )
    hint = suggestion(_name(rest[0]), _KNOWN)
    return InputError(
        f"program {quoted(rest[0])}", f"its defaults are not known here; expected {either(_KNOWN)}. {hint}".rstrip()
    )

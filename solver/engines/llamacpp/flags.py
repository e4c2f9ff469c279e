"""From the words of a command line to flags with their values; every flag of the named build is known by name.

Matching is the engine's own (common/arg.cpp, common_params_parse_ex): a long name may be written with underscores, and
a value always stands as a word of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from solver.engines.llamacpp.facts import Program
from solver.engines.llamacpp.flag_refusals import BENCH_MEMORY, BENCH_NEUTRAL, BENCH_REFUSED, REFUSED_ROWS
from solver.engines.llamacpp.flag_rows import MEMORY_ROWS, NEUTRAL_ROWS, OLDER_ROWS
from solver.errors import InputError
from solver.wording import either, quoted, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Effect", "Flag", "Given", "flags_of", "parse_flags", "program_of"]

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)
_ARGUMENT_VARIABLE = "LLAMA_ARG_"


class Effect(StrEnum):
    """What a flag does to memory: something that is sized here, nothing, or something that is not sized here."""

    MEMORY = "memory"
    NONE = "none"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: `name` is its first long name without dashes; `off_names` switch it off; `values` follow it."""

    name: str
    names: tuple[str, ...]
    off_names: tuple[str, ...]
    values: int
    effect: Effect
    reason: str


@dataclass(frozen=True, slots=True)
class Given:
    """A flag as it was given: the word itself, its values, and whether the word switches it on."""

    flag: Flag
    word: str
    values: tuple[str, ...]
    is_on: bool

    @property
    def value(self) -> str:
        """Return the first value."""
        return self.values[0]


def program_of(words: Sequence[str]) -> tuple[Program, tuple[str, ...], tuple[str, ...]]:
    """Return the program that a command line starts, the words behind it, and the variables set before it.

    Raises:
        InputError: it starts none of the programs known here, or sets one of the engine's own variables.
    """
    rest = list(words)
    variables: list[str] = []
    while rest and _ASSIGNMENT.fullmatch(rest[0]):
        variables.append(rest.pop(0).partition("=")[0])
        if variables[-1].startswith(_ARGUMENT_VARIABLE):
            raise InputError(
                f"variable {variables[-1]}",
                "it stands for a flag; expected flags alone. Write it as the flag it stands for.",
            )
    known = [str(program) for program in Program]
    if not rest:
        raise InputError(
            "command line", f"it is empty; expected {either(known)} with its flags. Paste the whole command."
        )
    name = re.split(r"[/\\]", rest[0])[-1].removesuffix(".exe")
    if name not in known:
        hint = suggestion(name, known)
        raise InputError(
            f"program {quoted(rest[0])}", f"its defaults are not known here; expected {either(known)}. {hint}".rstrip()
        )
    return Program(name), tuple(rest[1:]), tuple(variables)


def parse_flags(program: Program, words: Sequence[str]) -> tuple[Given, ...]:
    """Return the flags of a command line in their order.

    Raises:
        InputError: a word is no flag of the program, a value is missing, or what a flag does is not sized here.
    """
    flags = flags_of(program)
    given: list[Given] = []
    position = 0
    while position < len(words):
        word = words[position]
        name = word.replace("_", "-") if word.startswith("--") else word
        flag = flags.get(name)
        if flag is None:
            raise _unknown(program, word, flags)
        values = tuple(words[position + 1 : position + 1 + flag.values])
        if len(values) < flag.values:
            raise InputError(f"{program}, {name}", "no value stands behind it; expected one. Complete the command.")
        if flag.effect is Effect.REFUSED:
            raise InputError(f"{program}, {name}", f"{flag.reason}. Leave it out.")
        given.append(Given(flag, name, values, is_on=name in flag.names))
        position += 1 + flag.values
    return tuple(given)


@cache
def flags_of(program: Program) -> Mapping[str, Flag]:
    """Return every flag of a program under each of its names."""
    if program is Program.BENCH:
        rows = ((BENCH_MEMORY, Effect.MEMORY), (BENCH_NEUTRAL, Effect.NONE), (BENCH_REFUSED, Effect.REFUSED))
        flags = [flag for text, effect in rows for flag in _rows(text, effect)]
    else:
        kinds = (
            (MEMORY_ROWS, Effect.MEMORY),
            (OLDER_ROWS, Effect.MEMORY),
            (NEUTRAL_ROWS, Effect.NONE),
            (REFUSED_ROWS, Effect.REFUSED),
        )
        section = str(program).removeprefix("llama-")
        flags = [
            flag
            for sections, effect in kinds
            for programs, text in sections.items()
            if section in programs.split()
            for flag in _rows(text, effect)
        ]
    return {name: flag for flag in flags for name in (*flag.names, *flag.off_names)}


def _rows(text: str, effect: Effect) -> Iterator[Flag]:
    for line in filter(None, map(str.strip, text.splitlines())):
        row, _, reason = line.partition(" : ")
        words = row.split()
        values = words.count("*")
        words = [word for word in words if word != "*"]
        end = words.index("/") if "/" in words else len(words)
        names, off_names = tuple(words[:end]), tuple(words[end + 1 :])
        long = next((name for name in names if name.startswith("--")), names[0])
        yield Flag(long.lstrip("-"), names, off_names, values, effect, reason)


def _unknown(program: Program, word: str, flags: Mapping[str, Flag]) -> InputError:
    name = word.partition("=")[0]
    if name in flags and "=" in word:
        return InputError(
            f"{program}, {quoted(word)}",
            f"its value is joined to it; expected it as the next word. Write {name} and the value.",
        )
    hint = suggestion(word, [name for name in flags if name.startswith("--")])
    return InputError(
        f"{program}, {quoted(word)}", f"it is no flag of this program; expected one that is. {hint}".rstrip()
    )

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
from solver.engines.llamacpp.flag_refusals import (
    BENCH_MEMORY,
    BENCH_NEUTRAL,
    BENCH_REFUSED,
    FORK_FLAGS,
    REFUSED_ROWS,
)
from solver.engines.llamacpp.flag_rows import MEMORY_ROWS, NEUTRAL_ROWS, OLDER_ROWS
from solver.errors import InputError
from solver.wording import quoted, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Effect", "Flag", "Given", "flags_of", "parse_flags"]

_LINE_ENDS = frozenset({"\\", "^", "`"})
"""What ends a line that goes on, in shells; where the line's end is lost, it stands alone."""

_FUSED, _LETTER_FLAG = "flash-attn", re.compile("--?[A-Za-z]")

_DASHES = "\N{EN DASH}\N{EM DASH}\N{MINUS SIGN}\N{HYPHEN}\N{NON-BREAKING HYPHEN}"


class Effect(StrEnum):
    """What a flag does to memory: something that is sized here, nothing, or something that is not sized here."""

    MEMORY = "memory"
    NONE = "none"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: `name` is its first long name without dashes; `off_names` switch it off; `values` follow it.

    A flag that is refused has the reason, and `instead`: what to do.
    """

    name: str
    names: tuple[str, ...]
    off_names: tuple[str, ...]
    values: int
    effect: Effect
    reason: str
    instead: str


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


def parse_flags(program: Program, words: Sequence[str]) -> tuple[Given, ...]:
    """Return the flags of a command line in their order.

    Raises:
        InputError: a word is no flag of the program, a value is missing, or what a flag does is not sized here.
    """
    flags = flags_of(program)
    given: list[Given] = []
    position = 0
    while position < len(words):
        # A backslash whose line end is lost holds the space before the next word.
        word = words[position].lstrip()
        position += 1
        if word in _LINE_ENDS or (not word and words[position - 1]):
            continue
        name = word.replace("_", "-") if word.startswith("--") else word
        flag = flags.get(name)
        if flag is None:
            raise _unknown(program, word, flags)
        values = tuple(words[position : position + flag.values])
        _check_values(program, name, flag, values, flags)
        if flag.effect is Effect.REFUSED:
            raise InputError(f"{program}, {name}", f"{flag.reason}. {flag.instead}")
        given.append(Given(flag, name, values, is_on=name in flag.names))
        position += flag.values
    return tuple(given)


def _check_values(program: Program, name: str, flag: Flag, values: tuple[str, ...], flags: Mapping[str, Flag]) -> None:
    """Refuse a flag whose values are missing: at the end of the line, or where the next flag stands instead."""
    following = next((value for value in values if value in flags), None) if flag.effect is Effect.MEMORY else None
    is_alone = flag.name == _FUSED and (not values or _LETTER_FLAG.match(values[0]) is not None)
    if len(values) == flag.values and following is None and not is_alone:
        return
    if is_alone:
        raise InputError(
            f"{program}, {name}",
            "no value stands behind it, as in builds before September 2025; expected on, off or auto. "
            f"Write {name} on.",
        )
    there = "no value stands behind it" + ("" if following is None else f", but the flag {following}")
    raise InputError(f"{program}, {name}", f"{there}; expected one. Complete the command.")


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
        row, _, explained = line.partition(" : ")
        reason, _, instead = explained.partition(" > ")
        words = row.split()
        values = words.count("*")
        words = [word for word in words if word != "*"]
        end = words.index("/") if "/" in words else len(words)
        names, off_names = tuple(words[:end]), tuple(words[end + 1 :])
        long = next((name for name in names if name.startswith("--")), names[0])
        yield Flag(long.lstrip("-"), names, off_names, values, effect, reason, instead or "Leave it out.")


def _unknown(program: Program, word: str, flags: Mapping[str, Flag]) -> InputError:
    name = word.partition("=")[0]
    if name in flags and "=" in word:
        return InputError(
            f"{program}, {quoted(word)}",
            f"its value is joined to it; expected it as the next word. Write {name} and the value.",
        )
    written = "-" * (2 if word.startswith("\N{EM DASH}") else 1) + word.lstrip(_DASHES)
    if word[:1] in _DASHES and (written in flags or f"-{written}" in flags):
        known = written if written in flags else f"-{written}"
        return InputError(
            f"{program}, {quoted(word)}", f"it begins with a dash that is no hyphen; expected {known}. Write that."
        )
    if name in FORK_FLAGS:
        return InputError(
            f"{program}, {quoted(word)}", "it is a flag of ik_llama.cpp; expected one of llama.cpp. Leave it out."
        )
    hint = suggestion(word, [name for name in flags if name.startswith("--")]) if word.startswith("--") else ""
    return InputError(
        f"{program}, {quoted(word)}",
        f"it is no flag of this program; expected one that is. {hint or 'Leave it out.'}",
    )

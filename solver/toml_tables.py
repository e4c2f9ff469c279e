"""TOML text to checked tables, or one line that says which field cannot be meant."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, TypeVar

import msgspec

from solver.cluster_values import parse_value, shown
from solver.errors import InputError
from solver.small_file import read_small
from solver.wording import quoted, suggestion
from tensors.text import within_sentence

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["TomlKind", "read_toml_text", "toml_tables"]

_MOST_MIB = 4

_SYNTAX_PLACE = re.compile(r"(?P<problem>.*) \(at (?P<place>line \d+, column \d+|end of document)\)", re.DOTALL)
_WRONG_TYPE = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `[^`]*`")
_MISSING = re.compile(r"Object missing required field `(?P<key>.*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`", re.DOTALL)
_STEP = re.compile(r"\.?([a-z_]+)|\[(\d+)\]")

_KINDS = {"str": "text in quotes", "bool": "true or false", "array": "a list", "object": "a table"}

Tables = TypeVar("Tables", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class TomlKind:
    """What a file is called in errors, its tables by path (such as "node[].gpu[]"), and examples of required keys.

    `list_name` is the key of its outermost list of tables.
    """

    name: str
    list_name: str
    tables: Mapping[str, type[msgspec.Struct]]
    examples: Mapping[str, str]

    def known_keys(self, path: str) -> tuple[str, ...]:
        """Return the keys of the table at a path such as `node[2].gpu[0]`."""
        table = self.tables[re.sub(r"\[\d+\]", "[]", path)]
        return tuple(field.encode_name for field in msgspec.structs.fields(table))


def read_toml_text(path: Path, kind: TomlKind) -> str:
    """Return the text of a file.

    Raises:
        InputError: the file cannot be read, is too large, or is not UTF-8.
    """
    content = read_small(path, _MOST_MIB, f"{kind.name} in TOML")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}, byte {error.start}", "not UTF-8; expected TOML text. Save it as UTF-8.") from None


def toml_tables(text: str, where: str, kind: TomlKind, tables: type[Tables]) -> Tables:
    """Return the checked tables of TOML text; `where` names its origin in errors.

    Raises:
        InputError: the text is not TOML, or a field cannot be meant; names the field.
    """
    raw = _toml(text, where, kind)
    try:
        return msgspec.convert(raw, tables, dec_hook=parse_value)
    except msgspec.ValidationError as error:
        raise _refusal(error, raw, where, kind) from None


def _toml(text: str, where: str, kind: TomlKind) -> dict[str, object]:
    try:
        # Decimal keeps 0.20 exactly one fifth.
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        match = _SYNTAX_PLACE.fullmatch(str(error))
        problem, place = (match["problem"], f"{where}, {match['place']}") if match else (str(error), where)
        raise InputError(place, f"{within_sentence(problem)}; expected TOML. Correct it.") from None
    except (ValueError, ArithmeticError, RecursionError):
        # Digits by the thousand, exponents by the billion, brackets without end.
        raise InputError(
            where, f"a number or a nesting is out of bounds; expected {kind.name} in TOML. Correct it."
        ) from None


def _refusal(error: msgspec.ValidationError, raw: dict[str, object], where: str, kind: TomlKind) -> InputError:
    problem, _, path = str(error).rpartition(" - at `$")
    problem, path = (problem, path.removesuffix("`").removeprefix(".")) if problem else (str(error), "")
    place = f"{where}, {path}" if path else where
    if isinstance(error.__cause__, ValueError):
        return InputError(place, str(error.__cause__))
    if match := _UNKNOWN.fullmatch(problem):
        return InputError(place, _unknown_key(match["key"], kind.known_keys(path)))
    if match := _MISSING.fullmatch(problem):
        key = match["key"]
        return InputError(place, f"{key} is missing; expected it. Add {key} = {kind.examples[key]}.")
    return InputError(place, _wrong_type(problem, path, _value_at(raw, path), kind))


def _unknown_key(key: str, known: tuple[str, ...]) -> str:
    hint = suggestion(key, known) or "Remove it."
    return f"there is no key {quoted(key)}; expected one of {', '.join(known)}. {hint}"


def _wrong_type(problem: str, path: str, value: object, kind: TomlKind) -> str:
    if path == kind.list_name and isinstance(value, dict):
        return f"it is one table; expected a list of tables. Write [[{path}]] with two brackets."
    match = _WRONG_TYPE.fullmatch(problem)
    wanted = _KINDS.get(match["wanted"], match["wanted"]) if match else problem
    return f"{shown(value)} does not do; expected {wanted}. Correct it."


def _value_at(raw: object, path: str) -> object:
    value = raw
    for key, index in _STEP.findall(path):
        if isinstance(value, dict):
            value = value[key]
        elif isinstance(value, list):
            value = value[int(index)]
    return value

"""The cluster file: TOML text to a Cluster, or one line that says which field cannot be meant."""

from __future__ import annotations

import re
import tomllib
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from solver.cluster_build import build_cluster
from solver.cluster_schema import ClusterTable, known_keys
from solver.cluster_values import parse_value, shown
from solver.errors import InputError
from solver.wording import quoted, suggestion

if TYPE_CHECKING:
    from pathlib import Path

    from solver.cluster import Cluster

__all__ = ["parse_cluster", "read_cluster"]

_LARGEST_FILE = 4 * 2**20

_SYNTAX_PLACE = re.compile(r"(?P<problem>.*) \(at (?P<place>line \d+, column \d+|end of document)\)", re.DOTALL)
_WRONG_TYPE = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `[^`]*`")
_MISSING = re.compile(r"Object missing required field `(?P<key>.*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<key>.*)`", re.DOTALL)
_STEP = re.compile(r"\.?([a-z_]+)|\[(\d+)\]")

_KINDS = {"str": "text in quotes", "bool": "true or false", "array": "a list", "object": "a table"}
_EXAMPLES = {"name": '"desk"', "memory": '"64 GiB"', "class": '"rtx-4090-24g"', "from": '"desk"', "to": '"strix"'}


def read_cluster(path: Path) -> Cluster:
    """Return the cluster that a file describes.

    Raises:
        InputError: the file cannot be read, is not TOML in UTF-8, or a field cannot be meant; names the field.
    """
    where = str(path)
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST_FILE + 1)
    except IsADirectoryError:
        raise InputError(where, "it is a folder; expected a cluster file in TOML. Name the file.") from None
    except FileNotFoundError:
        raise InputError(where, "there is no such file; expected a cluster file in TOML. Check the path.") from None
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(where, f"{reason}; expected a cluster file that can be read. Check the path.") from None
    if len(content) > _LARGEST_FILE:
        raise InputError(where, "it is larger than 4 MiB; expected a cluster file in TOML. Check the path.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{where}, byte {error.start}", "not UTF-8; expected TOML text. Save it as UTF-8.") from None
    return parse_cluster(text, where)


def parse_cluster(text: str, where: str) -> Cluster:
    """Return the cluster that TOML text describes; `where` names its origin in errors.

    Raises:
        InputError: the text is not TOML, or a field cannot be meant; names the field.
    """
    raw = _toml(text, where)
    try:
        table = msgspec.convert(raw, ClusterTable, dec_hook=parse_value)
    except msgspec.ValidationError as error:
        raise _refusal(error, raw, where) from None
    return build_cluster(table, where)


def _toml(text: str, where: str) -> dict[str, object]:
    try:
        # Decimal keeps 0.20 exactly one fifth.
        return tomllib.loads(text, parse_float=Decimal)
    except tomllib.TOMLDecodeError as error:
        match = _SYNTAX_PLACE.fullmatch(str(error))
        problem, place = (match["problem"], f"{where}, {match['place']}") if match else (str(error), where)
        problem = problem[:1].lower() + problem[1:]
        raise InputError(place, f"{problem}; expected TOML. Correct it.") from None
    except (ValueError, ArithmeticError, RecursionError):
        # Digits by the thousand, exponents by the billion, brackets without end.
        raise InputError(
            where, "a number or a nesting is out of bounds; expected a cluster file in TOML. Correct it."
        ) from None


def _refusal(error: msgspec.ValidationError, raw: dict[str, object], where: str) -> InputError:
    problem, _, path = str(error).rpartition(" - at `$")
    problem, path = (problem, path.removesuffix("`").removeprefix(".")) if problem else (str(error), "")
    if isinstance(error.__cause__, ValueError):
        return InputError(_place(where, path), str(error.__cause__))
    if match := _UNKNOWN.fullmatch(problem):
        return InputError(_place(where, path), _unknown_key(match["key"], known_keys(path)))
    if match := _MISSING.fullmatch(problem):
        key = match["key"]
        return InputError(_place(where, path), f"{key} is missing; expected it. Add {key} = {_EXAMPLES[key]}.")
    return InputError(_place(where, path), _wrong_type(problem, path, _value_at(raw, path)))


def _unknown_key(key: str, known: tuple[str, ...]) -> str:
    hint = suggestion(key, known) or "Remove it."
    return f"there is no key {quoted(key)}; expected one of {', '.join(known)}. {hint}"


def _wrong_type(problem: str, path: str, value: object) -> str:
    if path == "node" and isinstance(value, dict):
        return "it is one table; expected a list of tables. Write [[node]] with two brackets."
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


def _place(where: str, path: str) -> str:
    return f"{where}, {path}" if path else where

"""A problem read from a file, from text, or from a decoded document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from solver.errors import InputError
from solver.problem_file.build import problem_of
from solver.problem_file.document import SCHEMA, Document
from solver.problem_file.write import problem_to_document
from solver.small_file import read_small
from tensors.text import decoder_problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from solver.problem import Problem

__all__ = ["checked", "problem_from_bytes", "problem_from_document", "read_problem"]

_MOST_MIB = 256


def read_problem(path: Path) -> Problem:
    """Return the problem in a JSON file.

    Raises:
        InputError: the file cannot be read, is no JSON, or breaks the document's rules; the message names the path.
    """
    return problem_from_bytes(read_small(path, _MOST_MIB, f"a {SCHEMA} document"), str(path))


def problem_from_bytes(content: bytes, where: str) -> Problem:
    """Return the problem in JSON text; `where` names its origin in errors.

    Raises:
        InputError: as for `read_problem`.
    """
    try:
        document = msgspec.json.decode(content, type=Document)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _refusal(where, error) from None
    return problem_of(document, where)


def problem_from_document(document: Mapping[str, Any], where: str) -> Problem:
    """Return the problem in a decoded document.

    Raises:
        InputError: as for `read_problem`.
    """
    try:
        return problem_of(msgspec.convert(document, type=Document), where)
    except msgspec.ValidationError as error:
        raise _refusal(where, error) from None


def checked(problem: Problem, where: str) -> Problem:
    """Return the problem if its rules and sizes can be meant: names that exist, blocks in range, sums in bounds.

    Raises:
        InputError: as for `read_problem`.
    """
    return problem_from_document(problem_to_document(problem), where)


def _refusal(where: str, error: Exception) -> InputError:
    return InputError(where, f"{decoder_problem(error)}; expected a {SCHEMA} document. Correct it.")

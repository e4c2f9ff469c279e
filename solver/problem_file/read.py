"""A problem read from a file, from text, or from a decoded document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from solver.errors import InputError
from solver.problem_file.build import problem_of
from solver.problem_file.document import SCHEMA, Document
from solver.problem_file.write import problem_to_document
from solver.wording import file_name, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from solver.problem import Problem

__all__ = ["checked", "problem_from_bytes", "problem_from_document", "read_problem"]

_LONGEST_PROBLEM = 200


def read_problem(path: Path) -> Problem:
    """Return the problem in a JSON file.

    Raises:
        InputError: the file cannot be read, is no JSON, or breaks the document's rules; the message names the path.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            file_name(path), f"{error.strerror or error}; expected a {SCHEMA} document. Check the path."
        ) from None
    return problem_from_bytes(content, file_name(path))


def problem_from_bytes(content: bytes, where: str) -> Problem:
    """Return the problem in JSON text; `where` names its origin in errors.

    Raises:
        InputError: as for `read_problem`.
    """
    try:
        document = msgspec.json.decode(content, type=Document)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(where, _sentence(str(error))) from None
    return problem_of(document, where)


def problem_from_document(document: Mapping[str, Any], where: str) -> Problem:
    """Return the problem in a decoded document.

    Raises:
        InputError: as for `read_problem`.
    """
    try:
        return problem_of(msgspec.convert(document, type=Document), where)
    except msgspec.ValidationError as error:
        raise InputError(where, _sentence(str(error))) from None


def checked(problem: Problem, where: str) -> Problem:
    """Return the problem if its rules and sizes can be meant: names that exist, blocks in range, sums in bounds.

    Raises:
        InputError: as for `read_problem`.
    """
    return problem_from_document(problem_to_document(problem), where)


def _sentence(problem: str) -> str:
    """Turn the decoder's message, whose path starts with `$`, into the house form."""
    text, _, path = problem.partition(" - at `")
    where = f" at {path.rstrip('`').removeprefix('$').removeprefix('.') or 'the top'}" if path else ""
    return f"{shortened(text, _LONGEST_PROBLEM)}{where}; expected a {SCHEMA} document. Correct it."

"""What can be wrong with a question put to the solver.

SolverError
├── InputError    a value that a person gave and that cannot be meant (also a ValueError)
├── UsageError    a request that contradicts itself or lacks a part
└── AuditError    an answer that the rules reject: a bug, never the person's fault
"""

from __future__ import annotations

__all__ = ["AuditError", "InputError", "SolverError", "UsageError"]


class SolverError(Exception):
    """Base of every error that `solver` raises on purpose."""


class InputError(SolverError, ValueError):
    """A value that cannot be meant; the message says where, what is there, what was expected and what to do."""

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(where, problem)
        self.where = where
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.where}: {self.problem}"


class UsageError(SolverError):
    """A request that contradicts itself or lacks a part. `example` may be a file's text to show below the message."""

    def __init__(self, problem: str, example: str | None = None) -> None:
        super().__init__(problem, example)
        self.problem = problem
        self.example = example

    def __str__(self) -> str:
        return self.problem


class AuditError(SolverError):
    """The rules reject an answer of the solver. Nothing of that answer may be shown or written."""

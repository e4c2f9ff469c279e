"""Failures that may pass, and how long it makes sense to ask again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tensors.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tensors.sources.protocols import Result
    from tensors.sources.threads import Deadline

__all__ = ["PassingError", "Patience", "passing_status"]

TRIES = 4
FIRST_PAUSE_SECONDS = 0.5

_PASSING_STATUSES = frozenset({408, 429, 500, 502, 503, 504})
_TOO_MANY = 429
_LONGEST_NUMBER = 9


class PassingError(Exception):
    """A failure that another try may mend; `wait_seconds` is what the server asks for, None where it asks nothing."""

    def __init__(self, what: str, wait_seconds: float | None = None) -> None:
        super().__init__(what, wait_seconds)
        self.what = what
        self.wait_seconds = wait_seconds


class Patience:
    """How often a place is asked again: four tries in all, each pause twice the last, and never beyond the deadline."""

    def __init__(self, deadline: Deadline, location: str) -> None:
        self._deadline = deadline
        self._location = location
        self._failures = 0

    def until_given(self, attempt: Callable[[], Result]) -> Result:
        """Return what an attempt gives, asking again after failures that may pass.

        Raises:
            SourceError: they did not pass.
        """
        while True:
            try:
                return attempt()
            except PassingError as failure:
                self._failures += 1
                self._wait_after(failure)

    def _wait_after(self, failure: PassingError) -> None:
        pause_seconds = FIRST_PAUSE_SECONDS * 2 ** (self._failures - 1)
        if failure.wait_seconds is not None:
            pause_seconds = failure.wait_seconds
        left_seconds = self._deadline.remaining()
        if failure.wait_seconds is not None and pause_seconds >= left_seconds:
            problem = f"{failure.what} and asks to wait {pause_seconds:,.0f} s; expected an answer within"
            problem = f"{problem} {self._deadline.limit_seconds:g} s. Try again later, or allow more time."
            raise SourceError(self._location, problem) from None
        if self._failures >= TRIES or pause_seconds >= left_seconds:
            tries = f"{self._failures} tries" if self._failures > 1 else "1 try"
            problem = f"{failure.what} ({tries}); expected an answer. Check the connection, or try again later."
            raise SourceError(self._location, problem) from None
        self._deadline.pause(pause_seconds)


def passing_status(status: int, headers: Mapping[str, str]) -> PassingError | None:
    """Return the failure that an HTTP status stands for, None where asking again does not help."""
    if status not in _PASSING_STATUSES:
        return None
    what = "the server is asked too often" if status == _TOO_MANY else "the server fails"
    return PassingError(f"{what}, status {status}", _retry_after(headers.get("Retry-After", "")))


def _retry_after(value: str) -> float | None:
    """Return the seconds of a Retry-After header, which may also be a date: RFC 9110, section 10.2.3."""
    text = value.strip()
    if text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER:
        return float(text)
    if not text:
        return None
    from datetime import UTC, datetime  # noqa: PLC0415 - servers seldom write a date
    from email.utils import parsedate_to_datetime  # noqa: PLC0415

    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())

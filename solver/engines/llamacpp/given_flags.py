"""The flags of one command line, asked for by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solver.engines.llamacpp.facts import Program
    from solver.engines.llamacpp.flags import Given

__all__ = ["GivenFlags"]

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class GivenFlags:
    """The flags of a command line; where one is given again, the last counts, as for the engine."""

    program: Program
    given: tuple[Given, ...]

    def last(self, *names: str) -> Given | None:
        """Return the last of some flags, or None."""
        return next((given for given in reversed(self.given) if given.flag.name in names), None)

    def every(self, *names: str) -> Iterator[Given]:
        """Yield all of some flags, in their order."""
        return (given for given in self.given if given.flag.name in names)

    def value(self, name: str, parse: Callable[[Given], Value], default: Value) -> Value:
        """Return the value of a flag, or the default where it is not given."""
        given = self.last(name)
        return default if given is None else parse(given)

    def on(self, name: str, *, default: bool) -> bool:
        """Return whether a flag without a value is on."""
        given = self.last(name)
        return default if given is None else given.is_on

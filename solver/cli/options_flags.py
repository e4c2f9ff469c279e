"""Flags of `layerfit options`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from solver.cli.flag_kinds import CACHE_TYPES, SECONDS, count
from solver.cli.values import choice
from solver.errors import UsageError
from solver.report.table import TableFormat
from solver.wording import either, quoted, suggestion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts import Token

__all__ = ["AskedMethod", "InputFormat", "OptionsOutput", "PoolOptions", "RequestOptions"]


class AskedMethod(StrEnum):
    """Who is asked."""

    SIMPLE = "simple"
    BOTH = "both"


class InputFormat(StrEnum):
    """In which form other programs' files describe nodes or models."""

    GPUSTACK = "gpustack"
    EXO = "exo"


def _formats(_: object, tokens: Sequence[Token]) -> tuple[TableFormat | InputFormat, ...]:
    known = [str(name) for kind in (TableFormat, InputFormat) for name in kind]
    found: list[TableFormat | InputFormat] = []
    for text in (part.strip().lower() for token in tokens for part in token.value.split(",")):
        if text not in known:
            raise ValueError(f"{quoted(text)} is unknown; expected {either(known)}. {suggestion(text, known)}".rstrip())
        found.append(TableFormat(text) if text in list(TableFormat) else InputFormat(text))
    return tuple(found)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOptions:
    """A snapshot of nodes in place of a cluster file."""

    pool: Annotated[
        Path | None,
        Parameter(
            metavar="FILE",
            help="Nodes as they are now, and what to serve on them unless MODEL is named: a layerfit/pool/1 document. "
            "With --format gpustack, worker descriptions: a file or a folder.",
        ),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """What is asked of every artifact, and of whom."""

    context: Annotated[
        int | None,
        count(0, of="TOKENS"),
        Parameter(
            help="llama.cpp's pool of tokens, or vLLM's longest sequence; 0 for no cache. "
            "[default: the pool's; else 16384, or the trained length when that is smaller]"
        ),
    ] = None
    kv: Annotated[
        tuple[str, str] | None,
        CACHE_TYPES,
        Parameter(help="Type of the cache, or of keys and values: TYPE or K,V. [default: q8_0; bf16 for safetensors]"),
    ] = None
    cache_bytes_per_token: Annotated[
        int | None,
        count(0, of="BYTES"),
        Parameter(help="Cache bytes for each token over the whole model, in place of the architecture's rule."),
    ] = None
    method: Annotated[
        AskedMethod,
        Parameter(
            converter=choice(AskedMethod),
            n_tokens=1,
            metavar="METHOD",
            help="simple for arithmetic alone; both asks the solver too, where headers say how large blocks are.",
        ),
    ] = AskedMethod.BOTH
    time_limit: Annotated[
        float,
        SECONDS,
        Parameter(help="Seconds for one question of the solver."),
    ] = 10.0


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsOutput:
    """What is shown, and how."""

    best: Annotated[bool, Parameter(show_default=False, help="Show the best option alone.")] = False
    explain: Annotated[
        int | None,
        count(1, of="RANK"),
        Parameter(help="Say why the option of this rank stands there, and what would raise it."),
    ] = None
    json: Annotated[bool, Parameter(show_default=False, help="Write one JSON document and nothing else.")] = False
    format: Annotated[
        tuple[TableFormat | InputFormat, ...],
        Parameter(
            converter=_formats,
            n_tokens=1,
            show_default=False,
            metavar="FORMAT",
            help="csv or markdown: write the table alone. gpustack: --pool is its worker descriptions. "
            "exo: MODEL is its model cards. May be given again.",
        ),
    ] = ()

    @property
    def table(self) -> TableFormat | None:
        """Return the form of a table that is asked for."""
        return next((name for name in self.format if isinstance(name, TableFormat)), None)

    def reads(self, form: InputFormat) -> bool:
        """Return whether inputs are in a form of another program."""
        return form in self.format

    def check(self) -> None:
        """Refuse forms of output that exclude each other.

        Raises:
            UsageError: there are two of --json, --explain and a table's --format.
        """
        asked = {"--json": self.json, "--format": self.table is not None, "--explain": self.explain is not None}
        given = [flag for flag, is_given in asked.items() if is_given]
        if len(given) > 1 and set(given) != {"--json", "--explain"}:
            raise UsageError(f"{' and '.join(given)}: all are given; expected one form of output. Leave one out.")
        if sum(isinstance(name, TableFormat) for name in self.format) > 1:
            raise UsageError("--format: csv and markdown are given; expected one form of output. Leave one out.")

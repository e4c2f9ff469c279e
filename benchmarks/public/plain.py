"""What loaders share: typed reading of public files, and problems that have sizes but no rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from benchmarks.public.folder import AbsentDataError, PublicDataError
from solver.problem import Ends, Link, Links, Problem, Rules
from tensors.text import decoder_problem

if TYPE_CHECKING:
    from pathlib import Path

    from solver.problem import Block, Node

__all__ = ["NO_ENDS", "joined", "joined_alike", "read_json", "read_text"]

_Form = TypeVar("_Form")
NO_ENDS = Ends(input_bytes=0, output_bytes=0, tied_bytes=0, host_bytes=0)
_NO_RULES = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)


def read_json(path: Path, form: type[_Form]) -> _Form:
    """Return a file as a typed record; keys that the record lacks are not looked at.

    Raises:
        PublicDataError: the file is not there or breaks its form.
    """
    try:
        return msgspec.json.decode(read_text(path), type=form)
    except msgspec.DecodeError as error:
        problem = decoder_problem(error)
        raise PublicDataError(f"{path.name}: {problem}. docs/benchmarks.md names the folder of data.") from error


def read_text(path: Path) -> str:
    """Return a file's text.

    Raises:
        AbsentDataError: the file is not there.
        PublicDataError: it cannot be read or is no UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise AbsentDataError(path) from error
    except OSError as error:
        problem = (error.strerror or type(error).__name__).lower()
        raise PublicDataError(f"{path.name}: {problem}. docs/benchmarks.md names the folder of data.") from error
    except UnicodeDecodeError as error:
        raise PublicDataError(f"{path.name}: no UTF-8 at byte {error.start}; expected text. Get it again.") from error


def joined_alike(
    blocks: tuple[Block, ...],
    ends: Ends,
    nodes: tuple[Node, ...],
    *,
    activation_bytes: int,
    context_tokens: int | None,
    hop_ns: int = 0,
) -> Problem:
    """Return a problem whose nodes are all joined by the same link, which takes `hop_ns` and carries any number."""
    links = Links(Link(hop_ns, None, forbidden=False), ())
    return joined(blocks, ends, nodes, links, activation_bytes=activation_bytes, context_tokens=context_tokens)


def joined(
    blocks: tuple[Block, ...],
    ends: Ends,
    nodes: tuple[Node, ...],
    links: Links,
    *,
    activation_bytes: int,
    context_tokens: int | None,
) -> Problem:
    """Return a problem without rules."""
    return Problem(
        blocks=blocks,
        ends=ends,
        nodes=nodes,
        activation_bytes=activation_bytes,
        context_tokens=context_tokens,
        links=links,
        rules=_NO_RULES,
    )

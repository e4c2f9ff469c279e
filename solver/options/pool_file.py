"""The pool as a JSON document (`layerfit/pool/1`): nodes, and what to serve on them unless models are named beside it.

Sizes in GB are 10^9 bytes. `policy`, and `shards` and `quant` of an artifact, may be left out; `context`, `shape` and
`artifacts` too where models are named. A node's card size may be left out: then it is what the class label ends in, and
cards of a label without a size are passed over.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from solver.errors import InputError
from solver.options.artifact import Artifact, Shape
from solver.options.policy import DEFAULT_POLICY, Overhead, Policy
from solver.options.pool import GB, PoolNode, memory_from_class
from solver.options.quantisation import quant_of
from solver.small_file import read_small
from solver.wording import quoted, shortened
from tensors.text import decoder_problem

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SCHEMA", "PoolFile", "pool_from_bytes", "read_pool"]

SCHEMA: Final = "layerfit/pool/1"

_MOST_MIB: Final = 64
# Far more than any rack has; widths and counts of nodes are tried one by one.
_MOST_CARDS: Final = 1024
_MOST_NODES: Final = 100_000
_MOST_ARTIFACTS: Final = 10_000
_LARGEST_GB: Final = Decimal(10**9)

_Amount = Annotated[int, msgspec.Meta(ge=0, le=2**60)]
_Divisor = Annotated[int, msgspec.Meta(ge=1, le=2**60)]
_Cards = Annotated[int, msgspec.Meta(ge=0, le=_MOST_CARDS)]
_Name = Annotated[str, msgspec.Meta(max_length=500)]
_Given = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class _Strict(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A part of the document; unknown keys are refused with their path."""


class _ShapePart(_Strict, frozen=True):
    kv_bytes_per_token: _Amount
    kv_heads: _Amount
    params: _Amount


class _ArtifactPart(_Strict, frozen=True):
    name: _Given
    format: _Given
    size: Annotated[int, msgspec.Meta(ge=1, le=2**60)] = msgspec.field(name="bytes")
    shards: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)] = 1
    quant: _Name | None = None


class _NodePart(_Strict, frozen=True):
    id: _Given
    gpu_class: _Name = msgspec.field(name="class")
    fabric: _Name
    gpus: _Cards
    free_gpus: _Cards | None
    host_mem_gb: Decimal
    host_free_gb: Decimal | None
    gpu_mem_gb: Decimal | None = None


class _OverheadPart(_Strict, frozen=True):
    base_bytes: _Amount
    divisor: _Divisor


class _PolicyPart(_Strict, frozen=True):
    gpu_share: Decimal = Decimal("0.90")
    host_share: Decimal = Decimal("0.85")
    llamacpp_overhead: _OverheadPart | None = None
    vllm_overhead: _OverheadPart | None = None


class _Document(_Strict, frozen=True):
    schema: str
    nodes: Annotated[tuple[_NodePart, ...], msgspec.Meta(max_length=_MOST_NODES)]
    context: _Amount | None = None
    shape: _ShapePart | None = None
    artifacts: Annotated[tuple[_ArtifactPart, ...], msgspec.Meta(max_length=_MOST_ARTIFACTS)] | None = None
    policy: _PolicyPart = _PolicyPart()


@dataclass(frozen=True, slots=True)
class PoolFile:
    """What a pool document says; artifacts and context are None where it leaves them to others."""

    nodes: tuple[PoolNode, ...]
    policy: Policy
    context_tokens: int | None
    artifacts: tuple[Artifact, ...] | None


def read_pool(path: Path) -> PoolFile:
    """Return the pool in a JSON file.

    Raises:
        InputError: the file cannot be read, is no JSON, or breaks the document's rules; the message names the path.
    """
    return pool_from_bytes(read_small(path, _MOST_MIB, f"a {SCHEMA} document"), str(path))


def pool_from_bytes(content: bytes, where: str) -> PoolFile:
    """Return the pool in JSON text; `where` names its origin in errors.

    Raises:
        InputError: as for `read_pool`.
    """
    try:
        document = msgspec.json.decode(content, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ArithmeticError) as error:
        raise InputError(where, f"{decoder_problem(error)}; expected a {SCHEMA} document. Correct it.") from None
    if document.schema != SCHEMA:
        raise InputError(f"{where}, schema", f"{quoted(document.schema)}; expected {SCHEMA}. Correct it.")
    if document.artifacts is not None and (document.shape is None or document.context is None):
        absent = "shape" if document.shape is None else "context"
        raise InputError(f"{where}, {absent}", "it is missing; expected it beside artifacts. Add it.")
    _check_names([part.id for part in document.nodes], where)
    return PoolFile(
        nodes=tuple(_node(part, f"{where}, nodes[{number}]") for number, part in enumerate(document.nodes)),
        policy=_policy(document.policy, f"{where}, policy"),
        context_tokens=document.context,
        artifacts=_artifacts(document),
    )


def _check_names(names: list[str], where: str) -> None:
    """Refuse a node that is listed twice: its memory would be counted twice."""
    seen: set[str] = set()
    for number, name in enumerate(names):
        if name in seen:
            raise InputError(
                f"{where}, nodes[{number}].id", f"{quoted(name)} is taken; expected one id a node. Rename one of them."
            )
        seen.add(name)


def _artifacts(document: _Document) -> tuple[Artifact, ...] | None:
    if document.artifacts is None or document.shape is None:
        return None
    shape = Shape(document.shape.kv_bytes_per_token, document.shape.kv_heads, document.shape.params)
    return tuple(
        Artifact(
            name=part.name,
            format=part.format.lower(),
            size_bytes=part.size,
            shards=part.shards,
            quant=quant_of(part.name) if part.quant is None else part.quant,
            shape=shape,
        )
        for part in document.artifacts
    )


def _node(part: _NodePart, where: str) -> PoolNode:
    if part.gpu_mem_gb is None:
        card_bytes = memory_from_class(part.gpu_class) * GB
    else:
        card_bytes = _bytes(part.gpu_mem_gb, f"{where}.gpu_mem_gb")
    if part.free_gpus is not None and part.free_gpus > part.gpus:
        raise InputError(
            f"{where}.free_gpus", f"{part.free_gpus} of {part.gpus} cards; expected no more than there are. Correct it."
        )
    return PoolNode(
        name=part.id,
        gpu_class=part.gpu_class,
        fabric=part.fabric,
        gpu_memory_bytes=card_bytes,
        gpus=part.gpus,
        free_gpus=part.free_gpus,
        host_memory_bytes=_bytes(part.host_mem_gb, f"{where}.host_mem_gb"),
        host_free_bytes=None if part.host_free_gb is None else _bytes(part.host_free_gb, f"{where}.host_free_gb"),
    )


def _bytes(amount: Decimal, where: str) -> int:
    """Return GB as bytes; what is less than a byte is dropped."""
    if not (amount.is_finite() and 0 <= amount <= _LARGEST_GB):
        raise InputError(where, f"{shortened(str(amount))}; expected GB from 0 to 10^9. Correct it.")
    return int(Fraction(amount) * GB)


def _policy(part: _PolicyPart, where: str) -> Policy:
    return Policy(
        gpu_share=_share(part.gpu_share, f"{where}.gpu_share"),
        host_share=_share(part.host_share, f"{where}.host_share"),
        llamacpp=_overhead(part.llamacpp_overhead, DEFAULT_POLICY.llamacpp),
        vllm=_overhead(part.vllm_overhead, DEFAULT_POLICY.vllm),
    )


def _overhead(part: _OverheadPart | None, default: Overhead) -> Overhead:
    return default if part is None else Overhead(part.base_bytes, part.divisor)


def _share(share: Decimal, where: str) -> Fraction:
    if not (share.is_finite() and 0 < share <= 1):
        raise InputError(where, f"{shortened(str(share))}; expected a share above 0 and up to 1, as 0.90. Correct it.")
    return Fraction(share)

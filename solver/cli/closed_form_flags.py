"""Flags of the closed forms, each parsed into exact values."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from cyclopts import Parameter

from solver.cli.flag_kinds import SHARE, SIZE, count
from solver.cli.values import one
from solver.closed_form import REFERENCE_RESERVE, TIERS_BYTES, ReservePolicy
from solver.closed_form.numbers import ratio_at_least_one
from solver.errors import InputError
from tensors.units import parse_duration_ns, parse_rate_bytes_per_second, parse_size_bytes

__all__ = ["RouteOptions", "SeamOptions", "SourceOptions", "TierOptions"]

_MOST_NODES = 1000
_LARGEST_WEIGHTS = 2**60
_BITS_PER_BYTE = 8
_DEFAULT_RATE = "2.5 Gbit/s"
_DEFAULT_LATENCY = "0.5 ms"


def sizes(text: str) -> tuple[int, ...]:
    """Return sizes separated by commas, in bytes.

    Raises:
        ValueError: one of them is no size with a unit.
    """
    return tuple(parse_size_bytes(size) for size in text.split(","))


def factor(text: str) -> Fraction:
    """Return a factor exactly as its decimal text says.

    Raises:
        ValueError: the text is no decimal number of 1 or more.
    """
    try:
        return ratio_at_least_one(text, "factor")
    except InputError as error:
        raise ValueError(f"{error.problem} Write it like 1.10.") from None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """An artifact that is known by its size and architecture, without its files."""

    weight_bytes: Annotated[
        int | None,
        count(1, _LARGEST_WEIGHTS, of="BYTES"),
        Parameter(help="Bytes of the weights, in place of MODEL."),
    ] = None
    architecture: Annotated[
        str | None,
        Parameter(
            metavar="FILE",
            help="The facts of the architecture, in place of MODEL: glm-5.2, a JSON or TOML file of the six facts, "
            "or a config.json.",
        ),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class FactorOptions:
    """The imbalance that is assumed while no placement is known."""

    imbalance_factor: Annotated[
        Fraction,
        Parameter(
            converter=one(factor),
            n_tokens=1,
            accepts_keys=False,
            metavar="FACTOR",
            show_default=False,
            help="Largest share of a node over the mean, as assumed for the recommended count. [default: 1.10]",
        ),
    ] = Fraction(11, 10)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class TierOptions:
    """Sizes of equal nodes, and what of each stays free."""

    tier: Annotated[
        tuple[int, ...],
        Parameter(
            converter=one(sizes),
            n_tokens=1,
            metavar="SIZE,…",
            show_default=False,
            help='Memory of a node in each tier, such as "24 GiB,32 GiB". [default: 32, 48, 64, 96 and 128 GiB]',
        ),
    ] = TIERS_BYTES
    reserve_fraction: Annotated[
        Fraction,
        SHARE,
        Parameter(show_default=False, help="Share of a node's memory that no plan may use. [default: 0.20]"),
    ] = REFERENCE_RESERVE.fraction
    reserve_floor: Annotated[
        int,
        SIZE,
        Parameter(show_default=False, help='The least reserve of a node. [default: "8 GiB"]'),
    ] = REFERENCE_RESERVE.floor_bytes

    @property
    def reserve(self) -> ReservePolicy:
        """Return the reserve of every node."""
        return ReservePolicy(self.reserve_fraction, self.reserve_floor)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RouteOptions:
    """How the nodes of a route are counted."""

    combined: Annotated[
        bool,
        Parameter(
            show_default=False,
            help="Count RAM and GPU memory of a node as one, with one reserve: a loose upper bound.",
        ),
    ] = False
    floor: Annotated[
        int | None,
        SIZE,
        Parameter(help="Also ask for this much usable memory in all. Experimental: nothing follows from it."),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class SeamOptions:
    """A chain of nodes and the links between them."""

    nodes: Annotated[
        int | None,
        count(2, _MOST_NODES),
        Parameter(help="Nodes in the chain; must be given."),
    ] = None
    context: Annotated[
        int | None,
        count(1, of="TOKENS"),
        Parameter(help="Tokens of a prefill. [default: 16384, or the trained length when that is smaller]"),
    ] = None
    rate: Annotated[
        int,
        Parameter(
            converter=one(parse_rate_bytes_per_second),
            n_tokens=1,
            metavar="RATE",
            show_default=False,
            help=f'Rate of every link. [default: "{_DEFAULT_RATE}"]',
        ),
    ] = parse_rate_bytes_per_second(_DEFAULT_RATE)
    latency: Annotated[
        int,
        Parameter(
            converter=one(parse_duration_ns),
            n_tokens=1,
            metavar="TIME",
            show_default=False,
            help=f'Latency of every link, beside its transfers. [default: "{_DEFAULT_LATENCY}"]',
        ),
    ] = parse_duration_ns(_DEFAULT_LATENCY)

    @property
    def rate_gbps(self) -> Fraction:
        """Return the rate in 10^9 bits a second."""
        return Fraction(self.rate * _BITS_PER_BYTE, 10**9)

    @property
    def hop_latency_ms(self) -> Fraction:
        """Return the latency in milliseconds."""
        return Fraction(self.latency, 10**6)

"""Groups of flags about what is planned and what is written, which commands share, each parsed into typed values.

None stands for "not given" wherever the value then depends on the model, the engine or the cluster file.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from solver.cli.flag_kinds import CACHE_TYPES, SHARE, SIZE, count
from solver.cli.values import (
    choice,
    one,
    width,
)
from solver.workload import AUTOMATIC_WIDTH, USUAL_CHOICES, Choices, EngineName, IndexerRule, Offload, Workload

__all__ = [
    "DEFAULT_CONTEXT_TOKENS",
    "ClusterOptions",
    "EngineName",
    "EngineOptions",
    "PlanOutputOptions",
    "ProblemOptions",
    "WorkloadOptions",
]

DEFAULT_CONTEXT_TOKENS = 16384


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions:
    """What the model is asked to do: decides how large its caches are."""

    context: Annotated[
        int | None,
        count(1, of="TOKENS"),
        Parameter(
            help="Tokens of context for each sequence. [default: 16384, or the trained length when that is smaller]"
        ),
    ] = None
    sequences: Annotated[
        int,
        count(1),
        Parameter(alias="--parallel", help="Sequences kept at the same time."),
    ] = 1
    kv: Annotated[
        tuple[str, str] | None,
        CACHE_TYPES,
        Parameter(
            help="Type of the cache, or of keys and values: TYPE or K,V. [default: q8_0; bf16 for vllm and sglang]"
        ),
    ] = None
    cache_bytes_per_token: Annotated[
        int | None,
        count(0, of="BYTES"),
        Parameter(
            help="Cache bytes for each token over the whole model, in place of the architecture's rule; 0 for none."
        ),
    ] = None
    indexer: Annotated[
        IndexerRule | None,
        Parameter(
            converter=choice(IndexerRule),
            n_tokens=1,
            metavar="RULE",
            help="Which blocks keep indexer keys. [default: the engine's own rule]",
        ),
    ] = None
    resident_nextn: Annotated[
        bool,
        Parameter(
            show_default=False, help="Place the multi-token prediction blocks too, with the cache of their kind."
        ),
    ] = False

    def workload(self, engine: EngineName, trained_tokens: int | None) -> Workload:
        """Return the workload with every default filled in; `trained_tokens` is what the model was trained for."""
        key_type, value_type = self.kv or (engine.cache_type, engine.cache_type)
        longest = DEFAULT_CONTEXT_TOKENS if trained_tokens is None else min(DEFAULT_CONTEXT_TOKENS, trained_tokens)
        return Workload(
            context_tokens=longest if self.context is None else self.context,
            sequences=self.sequences,
            cache_type_k=key_type,
            cache_type_v=value_type,
            indexer=IndexerRule.CONSERVATIVE if self.indexer is None else self.indexer,
            resident_nextn=self.resident_nextn,
            cache_bytes_per_token=self.cache_bytes_per_token,
        )


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """The engine that will run the model."""

    engine: Annotated[
        EngineName,
        Parameter(
            converter=choice(EngineName),
            n_tokens=1,
            metavar="ENGINE",
            help="Whose rules of memory to follow.",
        ),
    ] = EngineName.GENERIC
    offload: Annotated[
        Offload | None,
        Parameter(
            converter=choice(Offload),
            n_tokens=1,
            metavar="WHAT",
            help="What may stay in the memory of the host that a card stands in: experts, ffn (all feed-forward "
            "networks), none. [default: experts]",
        ),
    ] = None
    tensor_parallel: Annotated[
        int | None,
        Parameter(
            converter=one(width),
            n_tokens=1,
            metavar="N",
            help="Equal cards of one machine that share every block of a stage; auto for the best width. [default: 1]",
        ),
    ] = None

    @property
    def chooses_width(self) -> bool:
        """Return whether an engine whose ranks are all of one width is to be asked for the best."""
        return self.tensor_parallel == AUTOMATIC_WIDTH and self.engine in (EngineName.VLLM, EngineName.SGLANG)

    @property
    def choices(self) -> Choices:
        """Return what the engine is free to do, every default filled in."""
        return Choices(
            offload=USUAL_CHOICES.offload if self.offload is None else self.offload,
            width=USUAL_CHOICES.width if self.tensor_parallel is None else self.tensor_parallel,
        )


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOptions:
    """The nodes, and what of their memory stays free."""

    cluster: Annotated[
        Path | None, Parameter(metavar="FILE", help="Cluster file: the nodes with their memories and links.")
    ] = None
    reserve_fraction: Annotated[
        Fraction | None,
        SHARE,
        Parameter(
            help="Share of every host and unified memory that no plan may use, such as 0.20. "
            "[default: the cluster file's, there 0.20]"
        ),
    ] = None
    reserve_floor: Annotated[
        int | None,
        SIZE,
        Parameter(
            help='The least reserve of every host and unified memory. [default: the cluster file\'s, there "8 GiB"]'
        ),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemOptions:
    """An abstract problem in place of a model and a cluster, and the way to get one."""

    problem: Annotated[
        Path | None, Parameter(metavar="FILE", help="Place this abstract problem, in place of a model on a cluster.")
    ] = None
    write_problem: Annotated[
        Path | None, Parameter(metavar="FILE", help="Write the problem that is solved as an abstract problem.")
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOutputOptions:
    """Where a plan is written, and what of it."""

    json: Annotated[
        bool, Parameter(show_default=False, help="Write the plan as one JSON document and nothing else.")
    ] = False
    output: Annotated[
        Path | None, Parameter(name=("-o", "--output"), metavar="PLAN.json", help="Also write the plan to a file.")
    ] = None
    report: Annotated[Path | None, Parameter(metavar="FILE.html", help="Also write a report as one HTML page.")] = None
    no_timings: Annotated[
        bool, Parameter(show_default=False, help="Leave times out, so that equal plans are equal bytes.")
    ] = False
    no_paths: Annotated[bool, Parameter(show_default=False, help="Leave paths of this machine out.")] = False

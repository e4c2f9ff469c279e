"""Groups of flags that commands share, each parsed into typed values.

None stands for "not given" wherever the value then depends on the model, the engine or the cluster file.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from solver.cli.values import (
    cache_types,
    choice,
    count_range,
    each,
    exact_fraction,
    names,
    one,
    pin,
    positive_seconds,
    whole_number,
    width,
)
from solver.problem import Problem, Rules
from solver.report.table import TableFormat
from solver.workload import USUAL_CHOICES, Choices, EngineName, IndexerRule, Offload, Workload
from tensors.units import parse_size_bytes

__all__ = [
    "DEFAULT_CONTEXT_TOKENS",
    "ClusterOptions",
    "EngineName",
    "EngineOptions",
    "FrontierOptions",
    "LimitOptions",
    "ObjectiveOptions",
    "PlanOutputOptions",
    "ProblemOptions",
    "RuleOptions",
    "WorkloadOptions",
]

DEFAULT_CONTEXT_TOKENS = 16384

_MOST_WORKERS = 512
_LARGEST_SEED = 2**31 - 1


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadOptions:
    """What the model is asked to do: decides how large its caches are."""

    context: Annotated[
        int | None,
        Parameter(
            converter=whole_number(1),
            n_tokens=1,
            metavar="TOKENS",
            help="Tokens of context for each sequence. [default: 16384, or the trained length when that is smaller]",
        ),
    ] = None
    sequences: Annotated[
        int,
        Parameter(
            converter=whole_number(1),
            n_tokens=1,
            alias="--parallel",
            metavar="N",
            help="Sequences kept at the same time.",
        ),
    ] = 1
    kv: Annotated[
        tuple[str, str] | None,
        Parameter(
            converter=one(cache_types),
            n_tokens=1,
            metavar="TYPE",
            help="Type of the cache, or of keys and values: TYPE or K,V. [default: q8_0; bf16 for vllm and sglang]",
        ),
    ] = None
    cache_bytes_per_token: Annotated[
        int | None,
        Parameter(
            converter=whole_number(0),
            n_tokens=1,
            metavar="BYTES",
            help="Cache bytes for each token over the whole model, in place of the architecture's rule; 0 for none.",
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
        Parameter(
            converter=one(exact_fraction),
            n_tokens=1,
            accepts_keys=False,
            metavar="SHARE",
            help="Share of every host and unified memory that no plan may use, such as 0.20. "
            "[default: the cluster file's, there 0.20]",
        ),
    ] = None
    reserve_floor: Annotated[
        int | None,
        Parameter(
            converter=one(parse_size_bytes),
            n_tokens=1,
            metavar="SIZE",
            help='The least reserve of every host and unified memory. [default: the cluster file\'s, there "8 GiB"]',
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
class ObjectiveOptions:
    """What to look for, and in which order."""

    objective: Annotated[
        tuple[str, ...],
        Parameter(
            converter=one(names),
            n_tokens=1,
            show_default=False,
            metavar="A,B,…",
            help="Objectives, the most important first; each is settled before the next. [default: nodes,balance, or "
            "nodes,offload,balance where weights may stay with a host]",
        ),
    ] = ()

    def names(self, problem: Problem) -> tuple[str, ...]:
        """Return the objectives that are named, or those of a problem where nobody names any."""
        if self.objective:
            return self.objective
        return ("nodes", "offload", "balance") if problem.may_offload else ("nodes", "balance")


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOptions:
    """How long to look, and with what."""

    time_limit: Annotated[
        float,
        Parameter(converter=one(positive_seconds), n_tokens=1, metavar="SECONDS", help="Seconds for the whole search."),
    ] = 60.0
    deterministic_limit: Annotated[
        float | None,
        Parameter(
            converter=one(positive_seconds),
            n_tokens=1,
            metavar="UNITS",
            help="A limit in the solver's own units of work, the same on every machine.",
        ),
    ] = None
    workers: Annotated[
        int, Parameter(converter=whole_number(1, _MOST_WORKERS), n_tokens=1, metavar="N", help="Threads of the solver.")
    ] = 8
    seed: Annotated[
        int,
        Parameter(
            converter=whole_number(0, _LARGEST_SEED), n_tokens=1, metavar="N", help="Seed of the solver's choices."
        ),
    ] = 0


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOptions:
    """What a placement must obey beside memory."""

    pin: Annotated[
        tuple[tuple[int, str], ...],
        Parameter(
            converter=each(pin),
            n_tokens=1,
            accepts_keys=False,
            show_default=False,
            metavar="BLOCK=NODE",
            help="Put a block on a node; may be given again.",
        ),
    ] = ()
    first: Annotated[str | None, Parameter(metavar="NODE", help="The node of the first stage.")] = None
    last: Annotated[str | None, Parameter(metavar="NODE", help="The node of the last stage.")] = None
    order: Annotated[
        tuple[str, ...],
        Parameter(
            converter=one(names), n_tokens=1, show_default=False, metavar="A,B,…", help="Nodes that come in this order."
        ),
    ] = ()
    exclude: Annotated[
        tuple[str, ...],
        Parameter(
            converter=each(str.strip),
            n_tokens=1,
            show_default=False,
            metavar="NODE",
            help="Leave a node out; may be given again.",
        ),
    ] = ()
    max_nodes: Annotated[
        int | None, Parameter(converter=whole_number(1), n_tokens=1, metavar="N", help="Use at most this many nodes.")
    ] = None
    min_blocks: Annotated[
        int | None,
        Parameter(
            converter=whole_number(1), n_tokens=1, metavar="N", help="Give every stage at least this many blocks."
        ),
    ] = None

    def rules(self) -> Rules:
        """Return the rules as the problem has them; names are checked where the nodes are known."""
        return Rules(
            pins=self.pin,
            first=self.first,
            last=self.last,
            order=self.order,
            exclude=self.exclude,
            max_nodes=self.max_nodes,
            min_blocks=1 if self.min_blocks is None else self.min_blocks,
        )


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierOptions:
    """One answer for each number of nodes in place of one plan."""

    nodes: Annotated[
        range | None,
        Parameter(
            converter=one(count_range),
            n_tokens=1,
            accepts_keys=False,
            metavar="A..B",
            help="Show the best on at most A, … B nodes, each proved, in place of one plan.",
        ),
    ] = None
    frontier: Annotated[
        tuple[str, ...],
        Parameter(
            converter=one(names),
            n_tokens=1,
            show_default=False,
            metavar="nodes,B,…",
            help="Show what no answer on fewer nodes equals in the objectives that follow.",
        ),
    ] = ()
    format: Annotated[
        TableFormat | None,
        Parameter(converter=choice(TableFormat), n_tokens=1, metavar="FORMAT", help="Write the table alone."),
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

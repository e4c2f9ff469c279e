"""Groups of flags about the search: what to look for and in which order, under which rules, for how long.

None stands for "not given" wherever the value then depends on the model, the engine or the cluster file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from solver.cli.flag_kinds import NAMES, SECONDS, count
from solver.cli.values import choice, count_range, each, names, one, pin, positive_seconds
from solver.problem import Problem, Rules
from solver.report.table import TableFormat

__all__ = ["FrontierOptions", "LimitOptions", "ObjectiveOptions", "RuleOptions"]

_MOST_WORKERS = 512
_LARGEST_SEED = 2**31 - 1


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectiveOptions:
    """What to look for, and in which order."""

    objective: Annotated[
        tuple[str, ...],
        NAMES,
        Parameter(
            help="Objectives, the most important first; each is settled before the next. [default: nodes,balance, or "
            "nodes,offload,balance where weights may stay with a host, or throughput with replicas]"
        ),
    ] = ()

    def names(self, problem: Problem) -> tuple[str, ...]:
        """Return the objectives that are named, or those of a problem where nobody names any."""
        if self.objective:
            return self.objective
        if problem.rules.replicas:
            return ("throughput",)
        return ("nodes", "offload", "balance") if problem.may_offload else ("nodes", "balance")


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class LimitOptions:
    """How long to look, and with what."""

    time_limit: Annotated[
        float,
        SECONDS,
        Parameter(help="Seconds for the whole search."),
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
    workers: Annotated[int, count(1, _MOST_WORKERS), Parameter(help="Threads of the solver.")] = 8
    seed: Annotated[
        int,
        count(0, _LARGEST_SEED),
        Parameter(help="Seed of the solver's choices."),
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
        NAMES,
        Parameter(help="Nodes that come in this order."),
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
    max_nodes: Annotated[int | None, count(1), Parameter(help="Use at most this many nodes.")] = None
    min_blocks: Annotated[
        int | None,
        count(1),
        Parameter(help="Give every stage at least this many blocks."),
    ] = None

    replicas: Annotated[
        bool,
        Parameter(
            show_default=False,
            help="For throughput: let several nodes hold one stage and share its tokens, and chains run side by side.",
        ),
    ] = False

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
            replicas=self.replicas,
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

"""Predicted beside actual: every amount that a log gives, and every one that was predicted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from solver.engines.logs.amounts import Observation, Printed, Unit
from solver.engines.logs.llamacpp_log import HOST, observations, parse_llama_log
from solver.engines.logs.predictions import ExpectedKind
from solver.engines.logs.vllm_log import parse_vllm_log
from solver.errors import InputError
from solver.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from solver.engines.logs.amounts import Prediction
    from solver.engines.logs.llamacpp_log import LlamaLoad, LlamaLog
    from solver.engines.logs.predictions import Expected
    from solver.engines.logs.vllm_log import VllmFigure, VllmLog

__all__ = ["Comparison", "Row", "Verdict", "compare"]

_ALL_RANKS, _SOME_WORKER = "all ranks", "a worker"
# Of these, more than predicted is better.
_ROOM = frozenset({"cache memory", "cache tokens", "pages", "concurrency"})


class Verdict(StrEnum):
    """How an amount of the log stands to what was predicted."""

    AGREES = "agrees"
    MORE = "more"
    LESS = "less"
    NOT_PREDICTED = "not predicted"
    NOT_LOGGED = "not logged"


@dataclass(frozen=True, slots=True)
class Row:
    """One amount. `low` and `high` are None where nothing was predicted, `printed` where the log has nothing.

    `logged_as` is the log's own name of the subject.
    """

    subject: str
    logged_as: str
    what: str
    unit: Unit
    low: int | None
    high: int | None
    printed: Printed | None

    @property
    def error(self) -> int | None:
        """Return actual less the nearest amount predicted; 0 where the printed digits allow it, None if not known."""
        if self.low is None or self.high is None or self.printed is None:
            return None
        actual, precision = self.printed.amount, self.printed.precision
        if actual + precision < self.low:
            return actual - self.low
        return actual - self.high if actual - precision > self.high else 0

    @property
    def verdict(self) -> Verdict:
        """Return how the two stand to each other."""
        if self.printed is None:
            return Verdict.NOT_LOGGED
        error = self.error
        if error is None:
            return Verdict.NOT_PREDICTED
        return Verdict.AGREES if error == 0 else Verdict.MORE if error > 0 else Verdict.LESS

    @property
    def is_worse(self) -> bool:
        """Return whether the run takes more, or leaves less room, than was predicted."""
        return self.verdict is (Verdict.LESS if self.what in _ROOM else Verdict.MORE)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A log held against a document; `notes` are sentences for a person."""

    engine: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Return whether nothing is worse than was predicted."""
        return not any(row.is_worse for row in self.rows)


def compare(text: str, expected: Expected, names: Mapping[str, str], where: str) -> Comparison:
    """Return the comparison of a log's text; `names` gives the document's name of a device for the log's.

    Raises:
        InputError: the log is of no engine known here, or of another than the document's.
    """
    llama = parse_llama_log(text, where)
    if llama.loads:
        return _llama(llama, expected, names, where)
    vllm = parse_vllm_log(text, where)
    if vllm.figures:
        return _vllm(vllm, expected, where)
    raise InputError(
        where,
        "no line of it says how large a buffer, a model or a cache is; expected a log of llama.cpp or vLLM from its "
        "start. Run the engine without quiet flags; newer builds of llama.cpp say it with -lv 4.",
    )


def _llama(log: LlamaLog, expected: Expected, names: Mapping[str, str], where: str) -> Comparison:
    if expected.kind is ExpectedKind.RANKS:
        raise InputError(
            where, "it is a log of llama.cpp; expected one of the plan's engine. Name another log or plan."
        )
    load = log.main
    observed = observations(load)
    unknown = set(names) - {observation.subject for observation in observed}
    if unknown:
        raise InputError(
            where, f"no buffer is on {quoted(min(unknown))}; expected a device of the log. Correct the name."
        )
    renamed = dict(names)
    if expected.kind is ExpectedKind.STAGES:
        observed = _caches_with_states(observed)
        # A device that the plan calls as the log does is that one; all others are taken in order.
        seen = {one.subject for one in observed}
        taken = set(names.values())
        renamed |= {own: name for own, name in expected.named if own in seen - set(names) and name not in taken}
        devices = [name for name in _in_order(load, observed) if name not in renamed]
        left = [subject for subject in expected.subjects if subject not in {HOST, *renamed.values()}]
        renamed.update(zip(devices, left, strict=False))
    placed = tuple(
        replace(one, subject=renamed[one.subject], logged_as=one.subject) if one.subject in renamed else one
        for one in observed
    )
    notes = []
    if len(log.loads) > 1:
        notes.append(f"The log has {len(log.loads)} loads of models; this is the largest, the last of equals.")
    return Comparison("llama.cpp", _rows(placed, expected.predictions, expected.subjects), tuple(notes))


def _in_order(load: LlamaLoad, observed: Iterable[Observation]) -> list[str]:
    """Return the log's devices that hold anything, as the engine orders them."""
    seen = dict.fromkeys(one.subject for one in observed if one.subject != HOST)
    listed = [name for name, _ in load.devices if name in seen]
    return [*listed, *(name for name in seen if name not in listed)]


def _caches_with_states(observed: Iterable[Observation]) -> tuple[Observation, ...]:
    """Return the observations with caches and states of a device added up, as plans have them."""
    together: dict[tuple[str, str], Observation] = {}
    for one in observed:
        what = "cache and state" if one.what in ("cache", "state") else one.what
        known = together.get((one.subject, what))
        together[one.subject, what] = replace(
            one, what=what, printed=one.printed if known is None else known.printed + one.printed
        )
    return tuple(together.values())


def _vllm(log: VllmLog, expected: Expected, where: str) -> Comparison:
    if expected.kind is not ExpectedKind.RANKS:
        raise InputError(where, "it is a log of vLLM; expected one of the plan's engine. Name another log or plan.")
    notes: list[str] = []
    observed = tuple(dict.fromkeys(_vllm_observations(log, expected, notes)))
    order = (*expected.subjects, _ALL_RANKS)
    return Comparison("vllm", _rows(observed, expected.predictions, order), tuple(dict.fromkeys(notes)))


def _vllm_observations(log: VllmLog, expected: Expected, notes: list[str]) -> Iterator[Observation]:
    for figure in log.figures:
        subject, what = _vllm_subject(figure, expected), figure.what
        if what == "concurrency" and figure.context_tokens != expected.context_tokens:
            notes.append(
                f"The log's concurrency is for {figure.context_tokens:,} tokens, the plan's for "
                f"{expected.context_tokens:,}: they cannot be compared."
            )
            continue
        if subject == _SOME_WORKER:
            notes.append("Some lines do not say which rank they are of; they are shown without a prediction.")
        yield Observation(subject, what, figure.unit, figure.printed, figure.worker.name)


def _vllm_subject(figure: VllmFigure, expected: Expected) -> str:
    if figure.what not in ("weights", "cache memory"):
        return _ALL_RANKS
    worker, ranks = figure.worker, len(expected.subjects)
    rank = worker.pipeline
    if rank is None and worker.world is not None:
        rank = worker.world // expected.width
    if rank is None and ranks == 1:
        rank = 0
    return _SOME_WORKER if rank is None else f"rank {rank}"


def _rows(observed: Iterable[Observation], predictions: Iterable[Prediction], order: Iterable[str]) -> tuple[Row, ...]:
    """Return observations beside their predictions, subjects in order, and then what only one side has."""
    wanted = {(one.subject, one.what): one for one in predictions}
    rows: list[Row] = []
    met: set[tuple[str, str]] = set()
    for one in observed:
        key = (one.subject, one.what)
        met.add(key)
        known = wanted.get(key)
        low, high = (None, None) if known is None else (known.low, known.high)
        rows.append(Row(one.subject, one.logged_as, one.what, one.unit, low, high, one.printed))
    rows.extend(
        Row(one.subject, "", one.what, one.unit, one.low, one.high, None)
        for key, one in wanted.items()
        if key not in met
    )
    place = {subject: number for number, subject in enumerate(order)}
    kinds = {what: number for number, what in enumerate(dict.fromkeys(one.what for one in wanted.values()))}
    return tuple(sorted(rows, key=lambda row: (place.get(row.subject, len(place)), kinds.get(row.what, len(kinds)))))

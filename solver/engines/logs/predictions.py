"""What a document says that a run will take: a plan of this program, or an emulation of a command line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import msgspec

from solver.engines.logs.amounts import Prediction, Unit
from solver.errors import InputError
from solver.small_file import read_small
from solver.wording import quoted
from tensors.text import decoder_problem

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Expected", "ExpectedKind", "expected_from_bytes", "read_expected"]

_PLAN, _EMULATION = "layerfit/plan/1", "layerfit/emulation/1"
_MOST_MIB = 256

_Amount = Annotated[int, msgspec.Meta(ge=-(2**60), le=2**60)]
_Size = Annotated[int, msgspec.Meta(ge=0, le=2**60)]
_Name = Annotated[str, msgspec.Meta(max_length=400)]


class _Emulated(msgspec.Struct, frozen=True):
    name: _Name
    model_bytes: _Size
    cache_bytes: _Size
    state_bytes: _Size
    compute_bytes: tuple[_Size, _Size] | None
    output_bytes: _Size
    mapped_bytes: _Size | None = None


class _OnDevice(_Emulated, frozen=True, kw_only=True):
    """What a device of a plan holds as typed; the head's host has no device of its own."""

    device: _Name | None


class _Emulation(msgspec.Struct, frozen=True):
    devices: tuple[_Emulated, ...]


class _Stage(msgspec.Struct, frozen=True):
    device: _Name
    devices: tuple[_Name, ...]
    weight_bytes: _Size
    cache_bytes: _Size
    other_bytes: _Size


class _Rank(msgspec.Struct, frozen=True):
    rank: _Size
    device: _Name
    weight_bytes: _Size
    other_bytes: _Size
    available_cache_bytes: _Amount


class _Ranks(msgspec.Struct, frozen=True):
    context_tokens: _Size
    unit: _Name
    units: _Size
    tokens: _Size
    concurrency: Annotated[float, msgspec.Meta(ge=0, le=1e12)]
    width: Annotated[int, msgspec.Meta(ge=1, le=2**20)]
    ranks: tuple[_Rank, ...]


class _Workload(msgspec.Struct, frozen=True):
    engine: _Name | None


class _Plan(msgspec.Struct, frozen=True):
    stages: tuple[_Stage, ...]
    workload: _Workload
    ranks: _Ranks | None = None
    emulated: tuple[_OnDevice, ...] = ()


class _Any(msgspec.Struct, frozen=True):
    schema: str


class ExpectedKind(StrEnum):
    """What the subjects of an expectation are."""

    DEVICES = "devices by the engine's names"
    STAGES = "stages"
    RANKS = "ranks"


@dataclass(frozen=True, slots=True)
class Expected:
    """Predictions with the kind of their subjects.

    `subjects` are devices or stages in the order of the document; `width` is how many cards a rank has and
    `context_tokens` what its concurrency is for (1 and None for all else). `named` gives subjects for the engine's own
    names, where a plan says them.
    """

    kind: ExpectedKind
    subjects: tuple[str, ...]
    predictions: tuple[Prediction, ...]
    width: int
    context_tokens: int | None
    named: tuple[tuple[str, str], ...] = ()


def read_expected(path: Path) -> Expected:
    """Return what a file predicts.

    Raises:
        InputError: the file cannot be read, or is neither a plan nor an emulation.
    """
    return expected_from_bytes(read_small(path, _MOST_MIB, f"a {_PLAN} document"), str(path))


def expected_from_bytes(content: bytes, where: str) -> Expected:
    """Return what JSON text predicts; `where` names its origin in errors.

    Raises:
        InputError: it is neither a plan with stages nor an emulation.
    """
    try:
        schema = msgspec.json.decode(content, type=_Any).schema
        if schema == _EMULATION:
            return _of_emulation(msgspec.json.decode(content, type=_Emulation))
        if schema == _PLAN:
            return _of_plan(msgspec.json.decode(content, type=_Plan), where)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = decoder_problem(error)
        raise InputError(where, f"{problem}; expected a {_PLAN} or {_EMULATION} document. Write it again.") from None
    raise InputError(where, f"{quoted(schema)} is not read; expected {_PLAN} or {_EMULATION}. Name such a file.")


def _of_emulation(document: _Emulation) -> Expected:
    predictions: list[Prediction] = []
    for device in document.devices:
        caches = {
            "cache": (device.cache_bytes, device.cache_bytes),
            "state": (device.state_bytes, device.state_bytes),
        }
        predictions.extend(_of_device(device, device.name, caches))
    subjects = tuple(device.name for device in document.devices)
    return Expected(ExpectedKind.DEVICES, subjects, tuple(predictions), 1, None)


def _of_devices(devices: tuple[_OnDevice, ...]) -> Expected:
    """Return what the devices of a plan hold as typed: intervals of what is computed in among it."""
    predictions: list[Prediction] = []
    named = tuple((device.name, device.device or device.name) for device in devices)
    for device, (_, subject) in zip(devices, named, strict=True):
        cache = device.cache_bytes + device.state_bytes
        predictions.extend(_of_device(device, subject, {"cache and state": (cache, cache)}))
    subjects = tuple(subject for _, subject in named)
    return Expected(ExpectedKind.STAGES, subjects, tuple(predictions), 1, None, named)


def _of_device(device: _Emulated, subject: str, caches: dict[str, tuple[int, int]]) -> list[Prediction]:
    compute = (0, 0) if device.compute_bytes is None else device.compute_bytes
    # What of the files is mapped has no buffer of its own beside.
    model = 0 if device.mapped_bytes else device.model_bytes
    amounts = {
        "model": (model, model),
        **caches,
        "compute": compute,
        "output": (device.output_bytes, device.output_bytes),
        "mapped": (device.mapped_bytes or 0, device.mapped_bytes or 0),
    }
    return [Prediction(subject, what, Unit.BYTES, low, high) for what, (low, high) in amounts.items() if high]


def _of_plan(document: _Plan, where: str) -> Expected:
    if not document.stages:
        raise InputError(where, "it has no stages; expected a plan that places something. Plan again.")
    if document.ranks is not None:
        return _of_ranks(document.ranks)
    if document.emulated:
        return _of_devices(document.emulated)
    predictions: list[Prediction] = []
    for stage in document.stages:
        amounts = (
            ("model", stage.weight_bytes, stage.weight_bytes),
            ("cache and state", stage.cache_bytes, stage.cache_bytes),
            # What a plan sets aside beside the two is an upper end.
            ("compute", 0, stage.other_bytes),
        )
        predictions.extend(Prediction(stage.device, what, Unit.BYTES, low, high) for what, low, high in amounts if high)
    subjects = tuple(stage.device for stage in document.stages)
    return Expected(ExpectedKind.STAGES, subjects, tuple(predictions), 1, None)


def _of_ranks(ranks: _Ranks) -> Expected:
    predictions: list[Prediction] = []
    for rank in ranks.ranks:
        subject = f"rank {rank.rank}"
        low = max(rank.available_cache_bytes, 0)
        predictions.append(Prediction(subject, "weights", Unit.BYTES, rank.weight_bytes, rank.weight_bytes))
        # What is set aside beside weights and cache is an upper end: the cache may get all of it.
        predictions.append(Prediction(subject, "cache memory", Unit.BYTES, low, low + rank.other_bytes))
    if ranks.unit == "pages":
        predictions.append(Prediction("all ranks", "pages", Unit.PAGES, ranks.units, ranks.units))
    hundredths = int(ranks.concurrency * 100)
    predictions.append(Prediction("all ranks", "cache tokens", Unit.TOKENS, ranks.tokens, ranks.tokens))
    predictions.append(Prediction("all ranks", "concurrency", Unit.HUNDREDTHS, hundredths, hundredths + 1))
    subjects = tuple(f"rank {rank.rank}" for rank in ranks.ranks)
    return Expected(ExpectedKind.RANKS, subjects, tuple(predictions), ranks.width, ranks.context_tokens)

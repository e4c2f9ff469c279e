r"""distilp's objective for Macs, as a program for HiGHS: over all devices, or over the best choice of some.

Given M devices, k rounds (a divisor of the layers, not all of them), W = layers / k layers a round, b' bytes that a
layer holds (DistilpModel.held_bytes), b bytes of weights, and for device m: alpha seconds of a layer on the CPU,
alpha + beta on the GPU, pen = b / disk, fetch = b' / disk, comm seconds of a hop, room bytes of Metal.
Decide, integer:  1 <= w <= W layers a round,  n <= w of them on the GPU,  s, t layers that memory lacks (from disk).

    busy    = alpha w + beta n + pen (s + t) + comm
    (all)     sum w = W
    (memory)  b' w <= room - ends - fixed + b' s,   b' n <= room - out - fixed + b' t
    (cycle)   C >= busy + z,   z >= fetch w - (C - busy),   z >= 0
    minimise  sum (alpha w + beta n + pen (s + t)) + (k - 1) C + sum comm + head

`head` is what the device with the ends takes beside its layers: the first that is a head, else the first of all. The
choice adds y = 1 where a device is used: w <= W y, w >= y, comm y, and `head` of whoever then is first.

The published code (src/distilp/solver/halda_p_solver.py) adds comm to *every* coefficient of a cycle row, C and the
other devices' variables included, where its text has a constant; `as_coded` does the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import ceil, inf
from typing import TYPE_CHECKING

import highspy

from benchmarks.rivals.linear import LinearModel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.public.distilp import DistilpDevice, DistilpModel

__all__ = ["Assignment", "best_of_all", "best_of_choice", "best_of_subsets", "seconds_of"]

# Rows of memory are in layers, so that all coefficients are near 1.
_Row = dict[int, float]


@dataclass(frozen=True, slots=True)
class Assignment:
    """Seconds a token by distilp's objective, rounds, and layers a round by device: held, and of these on the GPU."""

    seconds: float
    rounds: int
    layers: tuple[int, ...]
    on_gpu: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Costs:
    """One device's coefficients in seconds a layer, its room in layers, and its share of `head`."""

    cpu: float
    gpu_delta: float
    spill: float
    fetch: float
    hop: float
    room: float
    gpu_room: float
    head: float


@dataclass(frozen=True, slots=True)
class _Columns:
    """Numbers of one device's variables."""

    w: int
    n: int
    s: int
    t: int
    z: int


def best_of_all(model: DistilpModel, devices: Sequence[DistilpDevice], *, as_coded: bool = False) -> Assignment | None:
    """Return the least seconds with every device taking a layer, over all rounds; None where they outnumber layers."""
    found = [_solved(model, devices, rounds, choose=False, as_coded=as_coded) for rounds in _rounds(model)]
    return min((one for one in found if one is not None), key=_seconds, default=None)


def best_of_choice(model: DistilpModel, devices: Sequence[DistilpDevice]) -> Assignment:
    """Return the least seconds where a device may be left out: it then has 0 layers."""
    found = [_solved(model, devices, rounds, choose=True, as_coded=False) for rounds in _rounds(model)]
    return min((one for one in found if one is not None), key=_seconds)


def best_of_subsets(model: DistilpModel, devices: Sequence[DistilpDevice], *, as_coded: bool = False) -> Assignment:
    """Return the same by asking about every subset of the devices in turn: the check of `best_of_choice`."""
    best = None
    for count in range(1, len(devices) + 1):
        for subset in combinations(range(len(devices)), count):
            found = best_of_all(model, [devices[m] for m in subset], as_coded=as_coded)
            if found is not None and (best is None or found.seconds < best.seconds):
                spread = {m: (found.layers[at], found.on_gpu[at]) for at, m in enumerate(subset)}
                placed = [spread.get(m, (0, 0)) for m in range(len(devices))]
                layers, on_gpu = tuple(one for one, _ in placed), tuple(other for _, other in placed)
                best = Assignment(found.seconds, found.rounds, layers, on_gpu)
    assert best is not None
    return best


def seconds_of(model: DistilpModel, devices: Sequence[DistilpDevice], placed: Assignment) -> float:
    """Return the objective of an assignment by arithmetic alone: the least C is the largest busy + fetch w / 2."""
    used = [m for m, layers in enumerate(placed.layers) if layers]
    costs = _costs(model, devices)
    total, cycle = costs[_head(devices, used)].head, 0.0
    for m in used:
        cost, w, n = costs[m], placed.layers[m], placed.on_gpu[m]
        spilled = max(ceil(w - cost.room), 0) + max(ceil(n - cost.gpu_room), 0)
        work = cost.cpu * w + cost.gpu_delta * n + cost.spill * spilled
        total += work + cost.hop
        cycle = max(cycle, work + cost.hop + cost.fetch * w / 2)
    return total + (placed.rounds - 1) * cycle


def _seconds(placed: Assignment) -> float:
    return placed.seconds


def _rounds(model: DistilpModel) -> list[int]:
    return [rounds for rounds in range(1, model.layers) if model.layers % rounds == 0]


def _head(devices: Sequence[DistilpDevice], used: Sequence[int]) -> int:
    return next((m for m in used if devices[m].is_head), used[0])


def _costs(model: DistilpModel, devices: Sequence[DistilpDevice]) -> list[_Costs]:
    return [_cost(model, device) for device in devices]


def _cost(model: DistilpModel, device: DistilpDevice) -> _Costs:
    held, ends = model.held_bytes, model.input_bytes / model.vocabulary + model.output_bytes
    on_cpu = model.layer_operations / device.cpu_operations_per_second[model.quantization]["b_1"]
    on_gpu = model.layer_operations / device.gpu_operations_per_second[model.quantization]["b_1"]
    cpu = on_cpu + device.cpu_cache_copy_seconds + held / device.cpu_bytes_per_second
    gpu = on_gpu + device.gpu_cache_copy_seconds + held / device.gpu_bytes_per_second
    disk = device.disk_bytes_per_second
    room = device.metal_bytes - device.gpu_fixed_bytes
    output = model.output_operations / device.cpu_operations_per_second[model.quantization]["b_1"]
    return _Costs(
        cpu=cpu,
        gpu_delta=gpu - cpu,
        spill=model.layer_bytes / disk,
        fetch=held / disk,
        hop=device.hop_seconds,
        room=(room - device.is_head * ends - device.cpu_fixed_bytes) / held,
        gpu_room=(room - device.is_head * model.output_bytes) / held,
        head=output + ends / device.cpu_bytes_per_second + ends / disk,
    )


def _solved(
    model: DistilpModel, devices: Sequence[DistilpDevice], rounds: int, *, choose: bool, as_coded: bool
) -> Assignment | None:
    """Return the optimum for so many rounds, or None where there are fewer layers a round than devices."""
    per_round, costs = model.layers // rounds, _costs(model, devices)
    if not choose and per_round < len(devices):
        return None
    program = LinearModel()
    columns = [_device_columns(program, cost, per_round) for cost in costs]
    cycle = program.column(inf, integer=False, cost=rounds - 1)
    program.row(per_round, {column.w: 1.0 for column in columns}, per_round)
    used = [
        _use(program, column, per_round, cost.hop, choose=choose) for column, cost in zip(columns, costs, strict=True)
    ]
    _pay_head(program, devices, costs, used)
    everything = {number: 1.0 for column in columns for number in (column.w, column.n, column.s, column.t, column.z)}
    for column, cost, use in zip(columns, costs, used, strict=True):
        _memory(program, column, cost)
        hop = {**everything, cycle: 1.0} if as_coded else {use: 1.0}
        _cycle(program, column, cost, cycle, {number: cost.hop * times for number, times in hop.items()})
    values = _values(program)
    layers, on_gpu = (tuple(round(values[number]) for number in numbers) for numbers in _held(columns))
    seconds = sum(value * cost for value, cost in zip(values, program.costs, strict=True))
    return Assignment(seconds, rounds, layers, on_gpu)


def _held(columns: Sequence[_Columns]) -> tuple[list[int], list[int]]:
    return [column.w for column in columns], [column.n for column in columns]


def _device_columns(program: LinearModel, cost: _Costs, most: int) -> _Columns:
    return _Columns(
        w=program.column(most, integer=True, cost=cost.cpu),
        n=program.column(most, integer=True, cost=cost.gpu_delta),
        s=program.column(most, integer=True, cost=cost.spill),
        t=program.column(most, integer=True, cost=cost.spill),
        z=program.column(inf, integer=False),
    )


def _use(program: LinearModel, column: _Columns, most: int, hop: float, *, choose: bool) -> int:
    """Add y and what ties it to w; where there is no choice it is 1."""
    use = program.column(1.0, integer=True, cost=hop)
    program.row(-inf, {column.w: 1.0, use: -float(most)}, 0.0)
    program.row(0.0, {column.w: 1.0, use: -1.0}, inf)
    if not choose:
        program.row(1.0, {use: 1.0}, 1.0)
    return use


def _pay_head(
    program: LinearModel, devices: Sequence[DistilpDevice], costs: Sequence[_Costs], used: Sequence[int]
) -> None:
    """Let the first device used pay for the ends, heads before others."""
    order = sorted(range(len(devices)), key=lambda m: not devices[m].is_head)
    before: _Row = {}
    for m in order:
        pays = program.column(1.0, integer=False, cost=costs[m].head)
        program.row(0.0, {pays: 1.0, used[m]: -1.0, **before}, inf)
        before[used[m]] = 1.0


def _memory(program: LinearModel, column: _Columns, cost: _Costs) -> None:
    program.row(-inf, {column.n: 1.0, column.w: -1.0}, 0.0)
    program.row(-inf, {column.w: 1.0, column.s: -1.0}, cost.room)
    program.row(-inf, {column.n: 1.0, column.t: -1.0}, cost.gpu_room)


def _cycle(program: LinearModel, column: _Columns, cost: _Costs, cycle: int, hop: Mapping[int, float]) -> None:
    busy = dict(hop)
    own = ((column.w, cost.cpu), (column.n, cost.gpu_delta), (column.s, cost.spill), (column.t, cost.spill))
    for number, seconds in own:
        busy[number] = busy.get(number, 0.0) + seconds
    program.row(-inf, _sum(busy, {column.z: 1.0, cycle: -1.0}), 0.0)
    program.row(-inf, _sum(busy, {column.w: cost.fetch, column.z: -1.0, cycle: -1.0}), 0.0)


def _sum(one: Mapping[int, float], other: Mapping[int, float]) -> _Row:
    return {number: one.get(number, 0.0) + other.get(number, 0.0) for number in {**one, **other}}


def _values(program: LinearModel) -> list[float]:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mip_rel_gap", 1e-9)
    highs.setOptionValue("threads", 1)
    highs.passModel(program.linear_program())
    highs.run()
    status = highs.getModelStatus()
    assert status == highspy.HighsModelStatus.kOptimal, status
    return list(highs.getSolution().col_value)

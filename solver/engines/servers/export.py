"""What to type for vLLM and SGLang so that a placement happens: the cut by a variable, the ranks by where they start.

Which rank is on which machine is the launcher's choice, not the plan's. Ray gives the driver's machine the first ranks,
then machines with fewer workers, then those with the lower address, compared as text
(vllm/v1/executor/ray_executor.py); launchers that number machines give each equally many ranks, in order. Every export
is read back by these rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING, Final

from solver.engines.commands import Command, Export, MachineCommands, Refusal, address_of, refused_address
from solver.engines.servers.ranks import served_figures
from solver.problem import Placement, Stage
from solver.wording import counted
from solver.workload import EngineName

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from solver.cluster import Cluster, ClusterNode
    from solver.engines.commands import Run
    from solver.engines.servers.build import ServedProblem
    from solver.engines.servers.cards import RankDevice
    from solver.workload import Workload

__all__ = ["Launcher", "Seated", "launched", "server_export"]

_RAY_PORT, _MASTER_PORT = 6379, 29501
_PARTITION: Final = {EngineName.VLLM: "VLLM_PP_LAYER_PARTITION", EngineName.SGLANG: "SGLANG_PP_LAYER_PARTITION"}


# CacheDType in vllm/config/cache.py; choices of the flag in sglang/srt/arg_groups/fields/model.py.
_SIXTEEN_BITS: Final = {
    EngineName.VLLM: {"bf16": "bfloat16", "bfloat16": "bfloat16", "f16": "float16", "float16": "float16"},
    EngineName.SGLANG: {"bf16": "bf16", "bfloat16": "bf16"},
}


class Launcher(StrEnum):
    """Who starts the ranks on their machines."""

    RAY = "ray"
    MP = "mp"


@dataclass(frozen=True, slots=True)
class Seated:
    """A machine with the devices of its ranks, in the order of the plan."""

    machine: ClusterNode
    devices: tuple[RankDevice, ...]


def server_export(
    served: ServedProblem,
    runs: Sequence[Run],
    cluster: Cluster,
    workload: Workload,
    trunk_blocks: int,
    model_path: str,
    launcher: Launcher | None,
) -> Export | Refusal:
    """Return what to type for runs over the blocks of a served problem, or why that cannot be.

    `trunk_blocks` is what the partition has to add up to; blocks behind them go with the last rank.
    """
    engine = served.profile.engine
    seated = _seated(served, runs, cluster)
    if isinstance(seated, str):
        return Refusal(engine, seated)
    chosen = launcher or (Launcher.RAY if engine is EngineName.VLLM and len(seated) > 1 else Launcher.MP)
    counts = [run.end - run.start for run in runs]
    counts[-1] = trunk_blocks - runs[-1].start
    if min(counts) < 1:
        return Refusal(
            engine, f"every rank takes a block of the trunk at least; the last run begins at {runs[-1].start}."
        )
    partition = ",".join(map(str, counts))
    reason = _misplaced(partition, runs, seated, chosen, trunk_blocks) or _too_full(served, runs, seated)
    if reason is not None:
        return Refusal(engine, f"the emulation does not give the plan back: {reason}")
    typed = _Typed(served, seated, workload, model_path, chosen, partition)
    return Export(
        engine=engine,
        build=served.profile.build,
        machines=tuple(_machines(typed)),
        notes=tuple(_notes(typed)),
    )


@dataclass(frozen=True, slots=True)
class _Typed:
    """All that the commands are made from."""

    served: ServedProblem
    seated: tuple[Seated, ...]
    workload: Workload
    model_path: str
    launcher: Launcher
    partition: str


def _seated(served: ServedProblem, runs: Sequence[Run], cluster: Cluster) -> tuple[Seated, ...] | str:
    """Return the machines in the order of their ranks, or why it cannot be."""
    by_card = {device.cards[0]: device for device in served.devices}
    missing = next((run.device for run in runs if run.device not in by_card), None)
    if missing is not None:
        return f"{missing} is no card that {served.profile.engine} places blocks on."
    nodes = {node.name: node for node in cluster.nodes}
    devices = [by_card[run.device] for run in runs]
    seated = tuple(
        Seated(nodes[name], tuple(group)) for name, group in groupby(devices, key=lambda device: device.machine)
    )
    names = [each.machine.name for each in seated]
    twice = next((name for position, name in enumerate(names) if name in names[:position]), None)
    if twice is not None:
        return f"the ranks of {twice} do not follow one another; a launcher numbers those of a machine in a row."
    return next((reason for each in seated if (reason := refused_address(each.machine)) is not None), seated)


def launched(
    launcher: Launcher, workers: Mapping[str, int], addresses: Mapping[str, str], driver: str
) -> tuple[str, ...]:
    """Return machines in the order in which a launcher gives them ranks; `workers` are in that of their numbers."""
    if launcher is Launcher.MP:
        return tuple(workers)
    return tuple(sorted(workers, key=lambda name: (name != driver, workers[name], addresses[name])))


def _misplaced(
    partition: str, runs: Sequence[Run], seated: Sequence[Seated], launcher: Launcher, trunk_blocks: int
) -> str | None:
    """Read the partition and the launcher's order back; return where a rank would not be what it is in the plan."""
    counts = [int(part) for part in partition.split(",")]
    ends = [sum(counts[: rank + 1]) for rank in range(len(counts))]
    proper = [run.end for run in runs[:-1]] + [trunk_blocks]
    if ends != proper:
        return f"the ranks would end at {ends} in place of {proper}."
    workers = {each.machine.name: len(each.devices) for each in seated}
    if launcher is Launcher.MP and len(set(workers.values())) > 1:
        listed = ", ".join(f"{name} {count}" for name, count in workers.items())
        return f"without ray every machine has equally many ranks, and these have {listed}."
    # Unknown addresses are taken to be in order, which a note asks for.
    addresses = {each.machine.name: each.machine.address or "" for each in seated}
    known = all(addresses.values())
    order = launched(launcher, workers, addresses if known else dict.fromkeys(addresses, ""), seated[0].machine.name)
    if order != tuple(workers):
        return f"{launcher} would number the machines {', '.join(order)} in place of {', '.join(workers)}."
    return None


def _too_full(served: ServedProblem, runs: Sequence[Run], seated: Sequence[Seated]) -> str | None:
    names = [device.name for each in seated for device in each.devices]
    stages = tuple(Stage(run.start, run.end, name) for run, name in zip(runs, names, strict=True))
    figures = served_figures(served, Placement(stages))
    if figures.fits:
        return None
    rank = figures.ranks[figures.weakest]
    return f"rank {rank.rank} on {rank.device} has no room for the cache of {counted(figures.sequences, 'sequence')}."


def _machines(typed: _Typed) -> Iterator[MachineCommands]:
    head = typed.seated[0]
    for number, each in enumerate(typed.seated):
        commands = []
        several = len(typed.seated) > 1
        environment = _cards(each, typed.served.settings.width)
        if typed.launcher is Launcher.RAY:
            if several:
                words = ("ray", "start", *_joined(number, head))
                commands.append(Command("join the cluster of ray", environment, words))
            if not number:
                own = () if several else environment
                purpose = "start the model, once every machine has joined" if several else "start the model"
                commands.append(Command(purpose, (*own, *_partition(typed)), _serve(typed, number)))
        else:
            purpose = "start the model" if not number else "start the other ranks"
            commands.append(Command(purpose, (*environment, *_partition(typed)), _serve(typed, number)))
        yield MachineCommands(each.machine.name, each.machine.address, tuple(commands))


def _joined(number: int, head: Seated) -> tuple[str, ...]:
    if not number:
        return ("--head", "--port", str(_RAY_PORT))
    return ("--address", f"{address_of(head.machine)}:{_RAY_PORT}")


def _cards(each: Seated, width: int) -> tuple[tuple[str, str], ...]:
    """Return which cards of a machine are used, in the order of its ranks; nothing for the only one there is."""
    every = dict(_local_cards(each.machine))
    used = [every[card] for device in each.devices for card in device.cards if card in every]
    if each.machine.unified or len(used) == len(every) == width == 1:
        return ()
    visible = ",".join(str(number) for _, number in used)
    if all(kind == "ROCm" for kind, _ in used):
        return (("HIP_VISIBLE_DEVICES", visible),)
    return (("CUDA_DEVICE_ORDER", "PCI_BUS_ID"), ("CUDA_VISIBLE_DEVICES", visible))


def _local_cards(machine: ClusterNode) -> Iterator[tuple[str, tuple[str, int]]]:
    """Yield the cards of a machine with their kind and number there: as the cluster names them, else as listed."""
    listed = 0
    for group in machine.gpus:
        name = group.device or f"CUDA{listed}"
        kind = name.rstrip("0123456789")
        first = int(name[len(kind) :][:9] or listed)
        for index in range(group.count):
            yield f"{machine.name}/gpu{listed}", (kind, first + index)
            listed += 1


def _partition(typed: _Typed) -> tuple[tuple[str, str], ...]:
    return ((_PARTITION[typed.served.profile.engine], typed.partition),)


def _serve(typed: _Typed, number: int) -> tuple[str, ...]:
    model = typed.seated[number].machine.model_path or typed.model_path
    return (
        _vllm(typed, number, model) if typed.served.profile.engine is EngineName.VLLM else _sglang(typed, number, model)
    )


def _vllm(typed: _Typed, number: int, model: str) -> tuple[str, ...]:
    settings, machines = typed.served.settings, len(typed.seated)
    numbered: tuple[str, ...] = ()
    if typed.launcher is Launcher.MP and machines > 1:
        numbered = ("--nnodes", str(machines), "--node-rank", str(number))
        numbered += ("--master-addr", address_of(typed.seated[0].machine), "--master-port", str(_MASTER_PORT))
        numbered += ("--headless",) if number else ()
    return (
        *("vllm", "serve", model),
        *("--pipeline-parallel-size", str(sum(len(each.devices) for each in typed.seated))),
        *("--tensor-parallel-size", str(settings.width)),
        *("--distributed-executor-backend", typed.launcher.value),
        *numbered,
        *("--max-model-len", str(typed.workload.context_tokens)),
        *("--gpu-memory-utilization", _share(typed)),
        *("--kv-cache-dtype", _cache_type(typed)),
        *("--block-size", str(settings.page_tokens)),
        *("--max-num-batched-tokens", str(settings.batched_tokens)),
        *("--max-num-seqs", str(settings.running_sequences)),
    )


def _sglang(typed: _Typed, number: int, model: str) -> tuple[str, ...]:
    settings, machines = typed.served.settings, len(typed.seated)
    numbered: tuple[str, ...] = ()
    if machines > 1:
        numbered = ("--nnodes", str(machines), "--node-rank", str(number))
        numbered += ("--dist-init-addr", f"{address_of(typed.seated[0].machine)}:{_MASTER_PORT}")
    return (
        *("python3", "-m", "sglang.launch_server", "--model-path", model),
        *("--pp-size", str(sum(len(each.devices) for each in typed.seated))),
        *("--tp-size", str(settings.width)),
        *numbered,
        *("--context-length", str(typed.workload.context_tokens)),
        *("--mem-fraction-static", _share(typed)),
        *("--kv-cache-dtype", _cache_type(typed)),
        *("--page-size", str(settings.page_tokens)),
        *("--chunked-prefill-size", str(settings.batched_tokens)),
        *("--cuda-graph-max-bs-decode", str(settings.running_sequences)),
    )


def _share(typed: _Typed) -> str:
    return str(float(typed.served.share.value))


def _cache_type(typed: _Typed) -> str:
    """Return the engine's word for the type of the cache; 16 bits are what it takes by itself for most models."""
    name = typed.workload.cache_type_k.lower()
    if name.startswith("fp8"):
        return "fp8_e4m3" if name == "fp8" else name
    said = _SIXTEEN_BITS[typed.served.profile.engine] if typed.served.says_cache_type else {}
    return said.get(name, "auto")


def _notes(typed: _Typed) -> Iterator[str]:
    profile = typed.served.profile
    yield (
        f"Emulated with the rules of {profile.engine} {profile.build} and the order of {typed.launcher}: every rank "
        "has the blocks and the card of the plan, and the cache fits."
    )
    missing = [each.machine.name for each in typed.seated if each.machine.address is None]
    if missing and len(typed.seated) > 1:
        yield f"The cluster does not say the address of {', '.join(missing)}; put it in."
    counts: dict[int, list[str]] = {}
    for each in typed.seated[1:]:
        counts.setdefault(len(each.devices), []).append(each.machine.name)
    for names in counts.values():
        if typed.launcher is Launcher.RAY and len(names) > 1:
            listed = ", ".join(names)
            yield f"Ray numbers machines of equally many ranks by address: those of {listed} must ascend as text."
    if _cache_type(typed) == "auto":
        yield "The cache has the type of the model, taken to be one of 16 bits."

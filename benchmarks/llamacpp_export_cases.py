"""Random questions for llama.cpp on one computer: machines of loopback addresses, with what `layerfit plan` is asked.

Cards of the drawn machines are of the kind whose sizes are rounded as those of a processor are (Metal), so that a
server of the processor can stand for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Case", "case_of", "first_port"]

_FIRST_PORT: Final = 20100
_PORTS_OF_CASE, _PORTS_OF_MACHINE, _CASES_WITH_PORTS = 50, 10, 200
_MIB = 2**20
_LEAST_MIB = 72
"""What a device has beside its share of the model: compute buffers of small models are of that size."""

_TYPES = ("f16", "f16", "q8_0", "q8_0", "bf16", "q4_0", "q5_1", "f16,q8_0", "q8_0,q4_0")
_OBJECTIVES = ("balance", "balance", "nodes,balance", "nodes,offload,balance", "offload,balance")
_RESERVE = '[reserve]\nfraction = 0.0\nfloor = "0 B"\n[reserve.gpu]\nfraction = 0.0\nfloor = "0 B"\n'


@dataclass(frozen=True, slots=True)
class Case:
    """A model, a cluster file's text, and the words behind `layerfit plan MODEL --cluster FILE`."""

    seed: int
    model: Path
    cluster: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Machine:
    """A machine of a draw: memory, whether its processor takes blocks beside its cards, and memories of cards."""

    memory_mib: int
    cards_mib: tuple[int, ...]
    cpu: bool
    unified: bool
    head: bool


def first_port(seed: int) -> int:
    """Return the first of the ports that a case may use."""
    return _FIRST_PORT + seed % _CASES_WITH_PORTS * _PORTS_OF_CASE


def case_of(model: Path, seed: int, size_of_model: int, growth: int) -> Case:
    """Return the case of a seed over a model of so many bytes; devices grow by a half with every step of `growth`."""
    random = Random(f"export {seed}")  # noqa: S311 - a draw needs no secrecy
    machines = _machines(random, size_of_model / _MIB, 1.5**growth)
    objectives = [each for each in _OBJECTIVES if "offload" not in each or any(one.cards_mib for one in machines)]
    words = (
        *("--context", str(random.choice((512, 1000, 2048, 3000, 4096, 8192)))),
        *("--sequences", str(random.choice((1, 1, 1, 2, 3, 4)))),
        *("--kv", random.choice(_TYPES)),
        *("--objective", random.choice(objectives)),
        *("--offload", random.choice(("experts", "experts", "ffn", "none"))),
        *(("--min-blocks", "2") if random.random() < 0.1 else ()),  # noqa: PLR2004 - now and then
    )
    return Case(seed, model, _cluster(machines, seed), ("--engine", "llamacpp", *words))


def _machines(random: Random, model_mib: float, growth: float) -> list[_Machine]:
    devices = random.choice((1, 2, 2, 3, 3, 4, 4))
    parts = [random.uniform(0.2, 1.0) for _ in range(devices)]
    spare = random.choice((0.7, 1.1, 1.6))
    sizes = [round((part / sum(parts) * model_mib * spare + _LEAST_MIB) * growth) for part in parts]
    machines: list[_Machine] = []
    while sizes:
        kind = random.choice(("host", "cards", "cards", "unified"))
        count = 1 if kind != "cards" else random.randint(1, min(2, len(sizes)))
        cards, sizes = tuple(sizes[:count]), sizes[count:]
        memory = round((model_mib * random.uniform(0.2, 1.2) + 2 * _LEAST_MIB) * growth)
        if kind == "cards":
            machines.append(_Machine(memory, cards, random.random() < 0.5, unified=False, head=False))  # noqa: PLR2004
        else:
            machines.append(_Machine(cards[0], (), cpu=False, unified=kind == "unified", head=False))
    random.shuffle(machines)
    if random.random() < 0.7:  # noqa: PLR2004 - else the program finds the head itself
        first = machines[0]
        machines[0] = _Machine(first.memory_mib + _LEAST_MIB, first.cards_mib, first.cpu, first.unified, head=True)
        random.shuffle(machines)
    return machines


def _cluster(machines: Sequence[_Machine], seed: int) -> str:
    return _RESERVE + "".join(
        _node(machine, f"m{number}", f"127.0.0.{number + 2}", first_port(seed) + number * _PORTS_OF_MACHINE)
        for number, machine in enumerate(machines)
    )


def _node(machine: _Machine, name: str, address: str, port: int) -> str:
    lines = [
        "[[node]]",
        f'name = "{name}"',
        f'memory = "{machine.memory_mib} MiB"',
        f'address = "{address}"',
        f"rpc_port = {port}",
    ]
    if machine.head:
        lines.append("head = true")
    if machine.cpu:
        lines.append("cpu = true")
    if machine.unified:
        lines += ["unified = true", 'gpu = [{ class = "u", device = "MTL0" }]']
    elif machine.cards_mib:
        groups = [
            f'{{ class = "c{number}", memory = "{size} MiB", count = 1, device = "MTL{number}" }}'
            for number, size in enumerate(machine.cards_mib)
        ]
        lines.append(f"gpu = [{', '.join(groups)}]")
    return "\n".join(lines) + "\n"

"""Runs of a real llama.cpp as its log tells them, and what they say of each device, ready to be compared.

A run counts when the program ended well, was not left to choose the placement (`-fit on`) and did not draft; of dry
runs those count that print bytes. Others are apart.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from solver.engines.llamacpp.facts import HOST_NAME

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Row", "read_rows"]

_HOST_BUFFERS = {"CPU", "CPU_Mapped", "AMX", "CPU_REPACK", HOST_NAME}


@dataclass(frozen=True, slots=True)
class Row:
    """One run: what was typed, the file it ran on, and what the log says."""

    identity: str
    model: str
    options: str
    path: Path
    log: dict[str, Any]

    @property
    def is_estimate(self) -> bool:
        """Return whether the dry-run estimator ran."""
        return bool(self.log["program"] == "llama-fit-params")

    @property
    def counts(self) -> bool:
        """Return whether every figure of the row must be met."""
        if self.is_estimate:
            return bool(self.log.get("estimate_bytes"))
        apart = "-fit on" in self.options or self.drafts
        return self.log["rc"] == 0 and bool(self.log.get("layers")) and not apart

    @property
    def drafts(self) -> bool:
        """Return whether the run drafted."""
        return "--spec-type" in self.options

    @property
    def repacks(self) -> bool:
        """Return whether weights on the host might be repacked."""
        return "-nr" not in self.options.split()

    @property
    def has_buffers(self) -> bool:
        """Return whether the log got as far as the sizes of buffers."""
        return "model_bytes" in self.log

    @property
    def slots(self) -> list[str]:
        """Return the device of every block and of the head."""
        return [HOST_NAME if layer["dev"] == "CPU" else layer["dev"] for layer in self.log.get("layers") or []]

    @property
    def mapped_bytes(self) -> int:
        """Return what was mapped of the files."""
        return sum(size for buffer, size in self.log["model_bytes"] if buffer == "CPU_Mapped")

    @property
    def mapped_spans(self) -> list[int]:
        """Return what was mapped of each file."""
        return [size for buffer, size in self.log["model_bytes"] if buffer == "CPU_Mapped"]

    def sizes(self, what: str) -> Counter[str]:
        """Return the bytes of all buffers of a kind by device; buffers of the host are taken together."""
        totals: Counter[str] = Counter()
        for buffer, size in self.log[f"{what}_bytes"]:
            totals[HOST_NAME if buffer in _HOST_BUFFERS else buffer] += size
        return totals

    def compressor_states(self) -> dict[str, tuple[float, int]]:
        """Return MiB with two digits and the number of their terms by device, for states that have no line in bytes."""
        totals: dict[str, tuple[float, int]] = {}
        for state in self.log.get("dsv4_state_mib") or []:
            name = HOST_NAME if state["buf"] == "CPU" else state["buf"]
            size, terms = totals.get(name, (0.0, 0))
            totals[name] = (size + float(state["mib"]), terms + 1)
        return totals

    def tensors_on_host(self) -> int:
        """Return the bytes of the tensors that were loaded into buffers of the host, not aligned."""
        copies = [
            *(pair for buffers in self.log["layer_tensor_bytes"].values() for pair in buffers.items()),
            *(tuple(pair) for pairs in self.log["global_tensors"].values() for pair in pairs),
        ]
        return sum(size for buffer, size in copies if buffer in _HOST_BUFFERS)


def read_rows(folder: Path, headers: Path) -> list[Row]:
    """Return every run of `truth.jsonl.gz`, with the file under `headers` that it ran on."""
    with gzip.open(folder / "truth.jsonl.gz", "rt", encoding="utf-8") as lines:
        logs = [json.loads(line) for line in lines]
    return [
        Row(identity=log["id"], model=log["model"], options=log["options"], path=headers / log["model"], log=log)
        for log in logs
    ]

"""Where a log of llama.cpp says that blocks and the head went, beside where a plan has them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["differing_slots"]

_SLOT = re.compile(r"load_tensors: layer +([0-9]+) assigned to device ([A-Za-z]+[0-9]*)")


def differing_slots(
    log: str, plan: Mapping[str, Any], printed: Sequence[str], names: Mapping[str, str]
) -> Iterator[str]:
    """Yield a sentence for each slot that is elsewhere; the last stage has the head and what is not loaded.

    The first stage is on the host where the printed words leave slots there; the others are on the printed devices in
    order. `names` gives the printed name of a device of the log.
    """
    found = {int(slot): device for slot, device in _SLOT.findall(log)}
    blocks = plan["model"]["trunk_blocks"] + plan["model"]["nextn_blocks"]
    devices = printed[printed.index("--device") + 1].split(",")
    counts = printed[printed.index("-ts") + 1].split(",") if "-ts" in printed else []
    offloaded = int(printed[printed.index("-ngl") + 1])
    stages = plan["stages"]
    on_host = ["CPU"] if offloaded < blocks + 1 else []
    used = [*on_host, *(device for device, count in zip(devices, counts, strict=False) if int(count))]
    if len(used) != len(stages):
        yield f"{len(stages)} stages, and the printed words use {used}"
        return
    for slot in range(blocks + 1):
        number = next((i for i, stage in enumerate(stages) if stage["start"] <= slot < stage["end"]), len(stages) - 1)
        there = found.get(slot, "nowhere")
        if names.get(there, there) != used[number]:
            yield f"slot {slot} is on {names.get(there, there)}, the plan has it on {used[number]}"

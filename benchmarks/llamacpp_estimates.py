"""What the dry-run estimator of llama.cpp prints, in whole MiB by device, beside an emulation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Mapping

__all__ = ["differing_estimates"]

_MIB = 2**20
_LINE = re.compile(r"^([A-Za-z]+[0-9]*) ([0-9]+) ([0-9]+) ([0-9]+) *$", re.MULTILINE)


def differing_estimates(
    printed: str, emulation: Mapping[str, Any], names: Mapping[str, str], tally: Counter[str]
) -> Iterator[str]:
    """Yield a sentence for each figure that is another; `names` gives the emulated name of a printed device."""
    lines = {names.get(name, name): tuple(map(int, sizes)) for name, *sizes in _LINE.findall(printed)}
    if not lines:
        yield f"no estimate: {printed.strip()[-400:]}"
        return
    for device in emulation["devices"]:
        name = device["name"]
        if name not in lines:
            yield f"no estimate of {name}"
            continue
        model, context, compute = lines[name]
        low, high = device["compute_bytes"] or (0, 2**60)
        checks = {
            "model": model == device["model_bytes"] // _MIB,
            "context": context == (device["cache_bytes"] + device["state_bytes"]) // _MIB,
            "compute": low // _MIB <= compute <= high // _MIB,
        }
        for what, holds in checks.items():
            tally[f"estimate, {what}: {'agrees' if holds else 'differs'}"] += 1
            if not holds:
                yield f"estimate, {what} of {name}: {lines[name]} MiB printed, emulated {device}"

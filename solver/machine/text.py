"""A survey as the text of a cluster file, every byte explained; several such texts in a row are one cluster file."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from solver.cluster_build import GPU_RESERVE, HOST_RESERVE
from solver.report.terminal import LINE_WIDTH, escape, fold
from solver.wording import exact_size
from tensors.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solver.cluster import Reserve
    from solver.machine.survey import CardGroup, Survey

__all__ = ["cluster_text"]

_UNITS: Final = (("MiB", 2**20), ("KiB", 2**10), ("B", 1))

_HEADER: Final = """\
# The machine that `layerfit nodes` ran on, as a node of a cluster file. Check it, edit it, and
# append the nodes of other machines below: these texts can stand one after the other.
# docs/cluster-file.md lists every key. Sizes are exact and as found now; budget = usable − reserve,
# and never above a ceiling.
"""

_FOOTER: Final = """\
# Once in the whole file, where they differ from these defaults:
# [reserve]
# fraction = 0.20
# floor = "8 GiB"
# [reserve.gpu]
# fraction = 0.10
# floor = "0 GiB"
# [links]               # between the nodes: measure them; without, nothing takes time
# latency = "0.5 ms"
# rate = "2.5 Gbit/s"
"""


def cluster_text(survey: Survey) -> str:
    """Return the text; it always loads as a cluster file."""
    lines = [
        "[[node]]",
        f"name = {_quoted(survey.name)}",
        f'# address = "{_host_of(survey.name)}.lan"   # how the others reach it: for layerfit export',
        "",
        *_host_lines(survey),
    ]
    if survey.groups and not survey.unified:
        lines += ["", *_card_lines(survey.groups)]
    for remark in survey.remarks:
        lines += ["", *_comment(remark)]
    return f"{_HEADER}\n" + "\n".join(lines) + f"\n\n{_FOOTER}"


def _host_lines(survey: Survey) -> Iterator[str]:
    host, usable = survey.host, survey.host.usable_bytes
    kind = "The memory, which host and graphics share" if survey.unified else "Host memory"
    yield from _comment(f"{kind}. {' '.join(host.remarks)}")
    yield from _comment(_budget(usable, HOST_RESERVE, survey.ceiling_bytes))
    yield f'memory = "{_size(usable)}"'
    if host.free_bytes is not None:
        unused = f"{format_bytes(host.free_bytes)} unused now; it says nothing of what fits"
        yield f'free = "{_size(host.free_bytes)}"   # {unused}'
    if not survey.unified:
        if survey.groups:
            yield "# cpu = true   # may whole blocks also live in this memory?"
        yield '# bandwidth = "80 GB/s"   # channels × 8 bytes × transfers/s; latency and throughput need it'
        return
    (group,) = survey.groups
    (card,) = group.cards
    yield "unified = true"
    same = "" if card.memory_bytes is None else " That is this memory, which is counted once."
    yield from _comment(f"Graphics, {card.name}: {' '.join(card.remarks)}{same}")
    if survey.ceiling_bytes is not None:
        yield f'ceiling = "{_size(survey.ceiling_bytes)}"'
    elif card.ceiling_bytes is not None:
        yield "# That is no less than the memory itself, so that there is no ceiling."
    if group.bytes_per_second is None:
        yield '# bandwidth = "256 GB/s"   # no table knows this chip; latency and throughput need it'
    else:
        yield f'bandwidth = "{_rate(group.bytes_per_second)}"   # {escape(group.source or "")}'
    yield f"gpu = [{{ class = {_quoted(group.label)}, device = {_quoted(group.device)} }}]"


def _card_lines(groups: tuple[CardGroup, ...]) -> Iterator[str]:
    yield "# Cards, in the order of the bus; free_count says how many have all of their budget unused now."
    yield "gpu = ["
    for group in groups:
        for card in group.cards:
            place = f" at {card.pci}" if card.pci else ""
            said = " ".join(card.remarks) or "Its memory is the datasheet's: the driver does not say."
            used = "" if card.used_bytes is None else f" {format_bytes(card.used_bytes)} are in use now."
            yield from _comment(f"{card.name}{place}: {said}{used}", "  ")
        yield from _comment(
            f"{'Each: ' if len(group.cards) > 1 else ''}{_budget(group.usable_bytes, GPU_RESERVE, None)}", "  "
        )
        yield from _comment(
            f"Bandwidth: {group.source}."
            if group.bytes_per_second is not None
            else "Bandwidth: no table knows this card; add bandwidth where it is known.",
            "  ",
        )
        yield f"  {_group_table(group)},"
    yield "]"


def _group_table(group: CardGroup) -> str:
    pairs = [f"class = {_quoted(group.label)}", f'memory = "{_size(group.usable_bytes)}"']
    if len(group.cards) > 1:
        pairs.append(f"count = {len(group.cards)}")
    if group.free_count is not None:
        pairs.append(f"free_count = {group.free_count}")
    if group.bytes_per_second is not None:
        pairs.append(f'bandwidth = "{_rate(group.bytes_per_second)}"')
    pairs.append(f"device = {_quoted(group.device)}")
    return f"{{ {', '.join(pairs)} }}"


def _budget(usable_bytes: int, reserve: Reserve, ceiling_bytes: int | None) -> str:
    """Return what is usable, kept and left in words."""
    kept = reserve.bytes_of(usable_bytes)
    budget = usable_bytes - kept
    why = f"{float(reserve.fraction) * 100:.0f} %"
    if kept == reserve.floor_bytes and kept:
        why = f"the least, {format_bytes(kept)}"
    text = f"Usable {format_bytes(usable_bytes)} − reserve {format_bytes(kept)} ({why})"
    if ceiling_bytes is not None and ceiling_bytes < budget:
        return f"{text} = {format_bytes(budget)}; the ceiling is lower, so the budget is {exact_size(ceiling_bytes)}."
    return f"{text} = budget {exact_size(budget)}." if budget > 0 else f"{text} leaves nothing: no blocks go there."


def _comment(text: str, indent: str = "") -> list[str]:
    return [f"{indent}# {line}" for line in fold(escape(text), LINE_WIDTH - len(indent) - 2, 0)]


def _size(size_bytes: int) -> str:
    """Return a size exactly, in the largest unit without a fraction."""
    return next(f"{size_bytes // unit_bytes} {unit}" for unit, unit_bytes in _UNITS if size_bytes % unit_bytes == 0)


def _rate(bytes_per_second: int) -> str:
    """Return a rate exactly."""
    return f"{Decimal(bytes_per_second).scaleb(-9).normalize():f} GB/s"


def _quoted(text: str) -> str:
    """Return text as a basic string of TOML."""
    return '"' + escape(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _host_of(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-") or "host"

"""Flags that name devices and files beside the model: a draft, a projector, adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.engines.llamacpp.flag_values import EXPERTS, experts_of_first_blocks, layers, overrides, refused, whole
from solver.engines.llamacpp.request import Adapters, Draft, Projector
from solver.wording import quoted

if TYPE_CHECKING:
    from solver.engines.llamacpp.flags import Given
    from solver.engines.llamacpp.given_flags import GivenFlags

__all__ = ["adapters_of", "device_names", "draft_of", "projector_of"]


def device_names(given: Given) -> tuple[str, ...]:
    """Return the names of devices, none for "none".

    Raises:
        InputError: one is empty or stands there twice.
    """
    names = tuple(given.value.split(","))
    if names == ("none",):
        return ()
    repeated = next((name for position, name in enumerate(names) if name in names[:position]), None)
    if "" in names or repeated is not None:
        raise refused(given, "a device is named twice or not at all; expected each once between commas. Correct it.")
    return names


def draft_of(flags: GivenFlags) -> Draft | None:
    """Return the model that drafts, or None.

    Raises:
        InputError: a value cannot be meant.
    """
    path = flags.last("spec-draft-model")
    if path is None:
        return None
    moved: list[tuple[str, str]] = []
    for given in flags.given:
        match given.flag.name:
            case "spec-draft-override-tensor":
                moved.extend(overrides(given))
            case "spec-draft-cpu-moe":
                moved.append((EXPERTS, "CPU"))
            case "spec-draft-n-cpu-moe":
                moved.extend(experts_of_first_blocks(whole(given, 0)))
            case _:
                continue
    return Draft(
        path=path.value,
        layers=flags.value("spec-draft-ngl", layers, None),
        devices=flags.value("spec-draft-device", device_names, None),
        overrides=tuple(moved),
    )


def projector_of(flags: GivenFlags) -> Projector | None:
    """Return the file of a vision or audio tower and its device, or None."""
    path = flags.last("mmproj")
    if path is None:
        return None
    last = flags.last("mmproj-device", "mmproj-offload")
    if last is None:
        return Projector(path.value, "")
    if last.flag.name == "mmproj-offload":
        return Projector(path.value, "" if last.is_on else None)
    return Projector(path.value, None if last.value == "none" else last.value)


def adapters_of(flags: GivenFlags) -> Adapters:
    """Return the files of adapters.

    Raises:
        InputError: one that should have a scale has none.
    """
    found: list[str] = []
    for given in flags.every("lora", "lora-scaled"):
        for part in filter(None, given.value.split(",")):
            path, colon, _ = part.rpartition(":") if given.flag.name == "lora-scaled" else (part, ":", "")
            if not (path and colon):
                raise refused(given, f"{quoted(part)} has no scale; expected FILE:SCALE. Correct it.")
            found.append(path)
    return Adapters(tuple(found))

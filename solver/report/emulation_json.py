"""Where a command line puts a model, as a document: `layerfit/emulation/1`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solver.engines.llamacpp.facts import HOST, HOST_NAME

if TYPE_CHECKING:
    from solver.engines.llamacpp.emulation import Emulation
    from solver.engines.llamacpp.facts import DeviceBytes

__all__ = ["SCHEMA", "device_document", "emulation_document", "slot_names"]

SCHEMA = "layerfit/emulation/1"


def emulation_document(emulation: Emulation) -> dict[str, Any]:
    """Return the document of an emulation: its context, the device of every slot, bytes of every device."""
    names = slot_names(emulation)
    return {
        "schema": SCHEMA,
        "build": emulation.profile.build,
        "context_tokens": emulation.settings.context_tokens,
        "sequences": emulation.settings.sequences,
        "unified": emulation.settings.unified,
        "slots": [
            {"slot": slot, "block": slot if slot < len(names) - 1 else None, "device": name}
            for slot, name in enumerate(names)
        ],
        "devices": [device_document(row) for row in emulation.rows],
        "beside": [
            {"what": beside.what, "device": beside.device, "bytes": [beside.low_bytes, beside.high_bytes]}
            for beside in emulation.beside
        ],
        "notes": list(emulation.notes),
    }


def slot_names(emulation: Emulation) -> list[str]:
    """Return the name of the device of every block and, last, of the head."""
    assignment = emulation.assignment
    return [HOST_NAME if slot == HOST else assignment.devices[slot].name for slot in assignment.slots]


def device_document(row: DeviceBytes) -> dict[str, Any]:
    """Return the bytes of a device, or of the host with what it maps."""
    document: dict[str, Any] = {
        "name": row.name,
        "model_bytes": row.model_bytes,
        "cache_bytes": row.cache_bytes,
        "state_bytes": row.state_bytes,
        "compute_bytes": None if row.compute_bytes is None else list(row.compute_bytes),
        "output_bytes": row.output_bytes,
    }
    if row.name == HOST_NAME:
        document["mapped_bytes"] = row.mapped_bytes
    return document

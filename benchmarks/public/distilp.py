"""distilp's profiles of machines and models (firstbatchxyz/distilp at 43eda2e, test/profiles, Apache-2.0).

Units are the source's own: bytes, bytes a second, floating-point operations a second (by quantisation and batch), and
seconds. A profile was measured for one model; its times of cache copies are for that model's cache, and a machine that
was profiled alone says that a hop takes 0 seconds.

Of a model's lists by layer the source takes entry 1 for all layers (entry 0 is the embedding and reads 0), and decoding
with a batch of 1; so do we. The profile of the 4B model is of an older form, in which operations are listed by
quantisation: its file's own name says which is meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from benchmarks.public.folder import PublicDataError
from benchmarks.public.plain import NO_ENDS, joined_alike, read_json
from solver.problem import Block, Node, Problem

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["DEVICES", "MODELS", "DistilpDevice", "DistilpModel", "problem_of", "read_device", "read_model"]

# Paths below the folder of distilp; the first device file of a model is its head.
MODELS = {
    "Llama-3-70B 4-bit": "llama_3_70b/online/model_profile.json",
    "Hermes-70B bf16": "hermes_70b/model_profile.json",
    "Qwen3-32B bf16": "qwen3_32b/bf16/model_profile.json",
    "Qwen3-4B 8-bit": "model_profile_qwen3_4b_8bit.json",
}
DEVICES = {
    "m1": "llama_3_70b/online/m1.json",
    "m2": "llama_3_70b/online/m2.json",
    "m3 (Hermes)": "hermes_70b/m3_air.json",
    "m3 (Llama)": "llama_3_70b/4bit/m3_air.json",
    "m3 (Qwen)": "qwen3_32b/bf16/m3_air.json",
}
_OLD_FORM = "Q8_0"

_Rates = dict[str, dict[str, float]]


class DistilpDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A Mac with Metal and unified memory, as profiled; rates by quantisation, then by batch ("b_1")."""

    name: str
    os_type: str
    is_head: bool
    is_unified_mem: bool
    cpu_operations_per_second: _Rates = msgspec.field(name="scpu")
    gpu_operations_per_second: _Rates = msgspec.field(name="sgpu_metal")
    cpu_bytes_per_second: float = msgspec.field(name="T_cpu")
    gpu_bytes_per_second: float = msgspec.field(name="T_metal")
    cpu_cache_copy_seconds: float = msgspec.field(name="t_kvcpy_cpu")
    gpu_cache_copy_seconds: float = msgspec.field(name="t_kvcpy_gpu")
    hop_seconds: float = msgspec.field(name="t_comm")
    disk_bytes_per_second: float = msgspec.field(name="s_disk")
    metal_bytes: int = msgspec.field(name="d_avail_metal")
    cpu_fixed_bytes: int = msgspec.field(name="c_cpu")
    gpu_fixed_bytes: int = msgspec.field(name="c_gpu")


class DistilpModel(msgspec.Struct, frozen=True, kw_only=True):
    """Layers all alike. `cache_elements` are the keys and values of one layer for the whole context."""

    name: str
    layers: int
    layer_bytes: int
    input_bytes: int
    output_bytes: int
    vocabulary: int
    cache_elements: int
    hidden_size: int
    context_tokens: int
    layer_operations: float
    output_operations: float
    quantization: str

    @property
    def held_bytes(self) -> int:
        """Return what a layer takes by distilp's rule: weights and 15 %, an 8-bit cache and 2 bytes for every 64."""
        return int(1.15 * self.layer_bytes + (1 + 2 / 64) * self.cache_elements)


class _Profile(msgspec.Struct, frozen=True, kw_only=True):
    """What both forms of a model's file share. FLOPs are lists or phases in one form, by quantisation in the other."""

    b: tuple[int, ...]
    b_i: tuple[int, ...]
    b_o: tuple[int, ...]
    L: int
    hk: int
    ek: int
    hv: int
    ev: int
    n_kv: int
    e_embed: int
    V: int
    f_q: dict[str, dict[str, tuple[float, ...]]] | tuple[float, ...]
    f_out: dict[str, dict[str, float]] | None = None
    quantization: str | None = None
    f_by_quant: dict[str, float] | None = None
    f_out_by_quant: dict[str, float] | None = None


def read_device(folder: Path, name: str, *, is_head: bool) -> DistilpDevice:
    """Return a device of DEVICES, under that name; `folder` is that of distilp.

    Raises:
        PublicDataError: the file is not there, breaks its form, or is not of a Mac with Metal and unified memory.
    """
    device = read_json(folder / DEVICES[name], DistilpDevice)
    if device.os_type != "mac_metal" or not device.is_unified_mem:
        raise PublicDataError(f"{name}: a machine of kind {device.os_type}; expected a Mac, as all of the profiles.")
    return msgspec.structs.replace(device, name=name, is_head=is_head)


def read_model(folder: Path, name: str) -> DistilpModel:
    """Return a model of MODELS.

    Raises:
        PublicDataError: the file is not there or breaks its form.
    """
    profile = read_json(folder / MODELS[name], _Profile)
    if isinstance(profile.f_q, dict) and profile.f_out is not None and profile.quantization is not None:
        quantization = profile.quantization
        layer, output = profile.f_q["decode"]["b_1"][1], profile.f_out["decode"]["b_1"]
    elif profile.f_by_quant is not None and profile.f_out_by_quant is not None:
        quantization = _OLD_FORM
        layer, output = profile.f_by_quant[quantization], profile.f_out_by_quant[quantization]
    else:
        raise PublicDataError(f"{MODELS[name]}: no operations of decoding; expected f_q by phase, or f_by_quant.")
    return DistilpModel(
        name=name,
        layers=profile.L,
        layer_bytes=profile.b[1],
        input_bytes=profile.b_i[1],
        output_bytes=profile.b_o[1],
        vocabulary=profile.V,
        cache_elements=(profile.hk * profile.ek + profile.hv * profile.ev) * profile.n_kv,
        hidden_size=profile.e_embed,
        context_tokens=profile.n_kv,
        layer_operations=layer,
        output_operations=output,
        quantization=quantization,
    )


def problem_of(model: DistilpModel, devices: tuple[DistilpDevice, ...]) -> Problem:
    """Return the same question for layerfit: memory must suffice, and every hop takes the slowest device's seconds.

    Weights are distilp's with its 15 %, caches 8-bit with its scales; budgets are Metal's bytes, speeds Metal's bytes a
    second. distilp lets layers spill to disk; here they may not.
    """
    cache = int((1 + 2 / 64) * model.cache_elements)
    weight = model.held_bytes - cache
    hop = max(device.hop_seconds for device in devices)
    return joined_alike(
        (Block(weight, cache, model.layer_bytes + cache, None, 0),) * model.layers,
        NO_ENDS,
        tuple(
            Node(device.name, device.metal_bytes - device.gpu_fixed_bytes, int(device.gpu_bytes_per_second), None)
            for device in devices
        ),
        activation_bytes=2 * model.hidden_size,
        context_tokens=model.context_tokens,
        hop_ns=round(hop * 10**9),
    )

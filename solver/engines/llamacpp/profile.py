"""What a named build of llama.cpp does that another build does differently, as values.

Rules were read from the sources of each build. Those of commit 0c1e570 (1 October 2026) were checked against real runs
of it, those of b11434 (6 October 2026) against runs of exports. Where a table below names a file, it is one of b11434.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from solver.engines.llamacpp.facts import Backend
from solver.errors import InputError
from solver.wording import either, quoted

__all__ = [
    "BACKENDS",
    "BUILDS",
    "CPU",
    "DEFAULT_BUILD",
    "MEASURED_BUILD",
    "UNKNOWN_CARD",
    "Profile",
    "backend_of",
    "profile_of",
]

MEASURED_BUILD: Final = "0c1e570"
"""A commit without a number of its own, of which thousands of runs were measured."""

# ggml/src/ggml-backend.cpp: TENSOR_ALIGNMENT of ggml-impl.h.
CPU: Final = Backend("CPU", 32, 1, pipelines=False, maps_files=True, exact=True, context_bytes=(0, 0))

_CUDA_ROUNDING = (128, 512)
"""ggml-cuda.cu (buffer_type_get_alignment, MATRIX_ROW_PADDING); ROCm and MUSA builds compile the same file."""

_CUDA_CONTEXT, _ROCM_CONTEXT = (320 * 2**20, 460 * 2**20), (320 * 2**20, 700 * 2**20)
"""A context with its libraries, as reported by those who measured it; more than one device is more than one context."""

_BACKENDS: Final = {
    backend.name: backend
    for backend in (
        Backend("CUDA", *_CUDA_ROUNDING, pipelines=True, maps_files=True, exact=True, context_bytes=_CUDA_CONTEXT),
        Backend("ROCm", *_CUDA_ROUNDING, pipelines=True, maps_files=True, exact=True, context_bytes=_ROCM_CONTEXT),
        Backend("MUSA", *_CUDA_ROUNDING, pipelines=True, maps_files=True, exact=True, context_bytes=_CUDA_CONTEXT),
        # ggml-sycl.cpp (SYCL_BUFFER_ALIGNMENT), presets.hpp.
        Backend("SYCL", 128, 512, pipelines=True, maps_files=True, exact=True, context_bytes=(0, 0)),
        # ggml-vulkan.cpp: minStorageBufferOffsetAlignment of the card, at most 256 by the specification.
        Backend("Vulkan", 256, 1, pipelines=True, maps_files=True, exact=False, context_bytes=(0, 0)),
        # ggml-metal.cpp.
        Backend("MTL", 32, 1, pipelines=True, maps_files=True, exact=True, context_bytes=(0, 0)),
        # ggml-rpc.cpp asks the server for the alignment of its device; that of a CPU is assumed.
        Backend("RPC", 32, 1, pipelines=True, maps_files=True, exact=False, context_bytes=(0, 0)),
        # ggml-opencl.cpp: CL_DEVICE_MEM_BASE_ADDR_ALIGN of the card, 128 bytes on most.
        Backend("GPUOpenCL", 128, 1, pipelines=False, maps_files=False, exact=False, context_bytes=(0, 0)),
    )
}

UNKNOWN_CARD: Final = replace(_BACKENDS["CUDA"], name="unknown", alignment_bytes=256, exact=False)
"""A card of which nothing is known: it rounds up as the coarsest of all kinds does."""

BACKENDS: Final = (CPU, *_BACKENDS.values(), UNKNOWN_CARD)
"""Every kind of device that a plan may have been made for."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One build. Families are values of `general.architecture`; None stands for every family.

    `head_counts_as_layer`: the number of offloaded layers counts the head, which goes first. `rpc_pipelines`: devices
    behind RPC servers compute beside one another, so that graph inputs are kept several times. `trunk_cache_families`:
    those whose nextn blocks have no cache unless they draft. `sparse_caches`: blocks with an indexer keep its keys.
    `drafting_families`: those whose nextn blocks can be loaded. `automatic_sequences`: what a server takes where no
    number is given. `mixed_batches`: graphs have a third way in beside tokens and vectors, for batches of both.
    `pooled_key_families`: those whose indexers keep a pooled key beside each of theirs.
    """

    build: str
    head_counts_as_layer: bool
    rpc_pipelines: bool
    trunk_cache_families: frozenset[str] | None
    sparse_caches: bool
    drafting_families: frozenset[str]
    automatic_sequences: int
    mixed_batches: bool
    pooled_key_families: frozenset[str]

    def drops_nextn_cache(self, family: str) -> bool:
        """Return whether nextn blocks that are not drafting have no cache."""
        return self.trunk_cache_families is None or family in self.trunk_cache_families

    def pipelines(self, backend: Backend) -> bool:
        """Return whether devices of this kind compute beside one another."""
        return backend.pipelines and (self.rpc_pipelines or backend.name != "RPC")


# src/llama-model.cpp (create_memory): hybrids filter by block in every build.
_HYBRIDS_WITH_NEXTN = frozenset({"qwen3next", "qwen35", "qwen35moe"})

# src/models/*.cpp: those whose loader asks load_mtp; bailingmoe2, dots3note, exaone-moe, exaone4 and glm4 always skip.
_DRAFTING = frozenset({
    "cohere2moe", "deepseek2", "deepseek32", "glm-dsa", "hy_v3", "mimo2", "qwen35", "qwen35moe", "qwen3next", "step35",
})  # fmt: skip

_NEWEST = Profile(
    build="b11434",
    head_counts_as_layer=True,
    rpc_pipelines=True,
    trunk_cache_families=None,
    sparse_caches=True,
    drafting_families=_DRAFTING
    | {"bailingmoe3", "deepseek4", "glm4moe", "glm5-next", "nemotron_h", "nemotron_h_moe", "qwen4exp"},
    automatic_sequences=4,
    mixed_batches=True,
    # src/models/qwen4exp.cpp (indexer_kpool_row).
    pooled_key_families=frozenset({"qwen4exp"}),
)

_PROFILES = (
    _NEWEST,
    replace(_NEWEST, build=MEASURED_BUILD, mixed_batches=False, pooled_key_families=frozenset()),
    Profile(
        build="b10256",
        head_counts_as_layer=True,
        rpc_pipelines=False,
        trunk_cache_families=_HYBRIDS_WITH_NEXTN | {"deepseek32", "glm-dsa", "hy_v3", "mimo2", "step35"},
        sparse_caches=True,
        drafting_families=_DRAFTING,
        automatic_sequences=4,
        mixed_batches=False,
        pooled_key_families=frozenset(),
    ),
    # After https://github.com/ggml-org/llama.cpp/pull/19460 (GLM-5 as plain latent attention), before 23346 (sparse).
    Profile(
        build="b8100",
        head_counts_as_layer=True,
        rpc_pipelines=False,
        trunk_cache_families=_HYBRIDS_WITH_NEXTN,
        sparse_caches=False,
        drafting_families=frozenset(),
        automatic_sequences=4,
        mixed_batches=False,
        pooled_key_families=frozenset(),
    ),
    # Before https://github.com/ggml-org/llama.cpp/pull/18148 (the head goes first), of December 2025.
    Profile(
        build="b7400",
        head_counts_as_layer=False,
        rpc_pipelines=False,
        trunk_cache_families=_HYBRIDS_WITH_NEXTN,
        sparse_caches=False,
        drafting_families=frozenset(),
        automatic_sequences=4,
        mixed_batches=False,
        pooled_key_families=frozenset(),
    ),
)

BUILDS: Final = tuple(profile.build for profile in _PROFILES)
DEFAULT_BUILD: Final = _NEWEST.build


def profile_of(build: str) -> Profile:
    """Return the profile of a build.

    Raises:
        InputError: nothing is known of that build; lists those that are.
    """
    for profile in _PROFILES:
        if profile.build == build:
            return profile
    raise InputError("build", f"{quoted(build)} is not known here; expected {either(BUILDS)}. Take the nearest one.")


def backend_of(device: str) -> Backend:
    """Return the kind of a device by its name, such as CUDA0.

    Raises:
        InputError: no rule is known for devices of that name.
    """
    backend = _BACKENDS.get(device.rstrip("0123456789"))
    if backend is None or not device[-1:].isdigit():
        known = either([f"{name}0" for name in _BACKENDS])
        raise InputError(f"device {quoted(device)}", f"no rule is known for its buffers; expected one like {known}.")
    return backend

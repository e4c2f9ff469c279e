"""Families of public instances: read from the folder of reference data where they are asked about.

Sources without bandwidths are asked about memory alone. What cannot be made into a problem is said in the loaders.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.family import Family, Instance, Target
from benchmarks.public import distilp, exo, gpustack, helix, parallax, prima
from benchmarks.public.folder import AbsentDataError, PublicDataError, instances_folder

if TYPE_CHECKING:
    from pathlib import Path

    from solver.problem import Problem

__all__ = ["PUBLIC", "PUBLIC_SMALL", "absence"]

_NO_TARGET = Target(None, None)
_MEMORY = ("nodes", "balance", "load", "headroom")
_CHAINS = ("cluster10", "cluster24", "cluster42", "3cluster24", "single_a100", "single_l4", "single_t4")
# Estimate, and the workers that are asked to hold it.
_WORKERS = {
    "70B on a 4090 and two 4080": ("llama3_70b_partial_offload", ("nvidia_1_4090_24gx1", "nvidia_2_4080_16gx2")),
    "70B on two and four 4080": ("llama3_70b_partial_offload", ("nvidia_2_4080_16gx2", "nvidia_4_4080_16gx4")),
    "32B bf16 on 4090 and 3060": (
        "deepseek_r1_distill_qwen_32b_bf16_partial_offload",
        ("nvidia_21_4090_24gx4_3060_12gx4",),
    ),
    "R1 IQ2_XXS on 4090, 4080 and 3090": (
        "deepseek_r1_ud_iq2_xxs_partial_offload",
        ("nvidia_18_4090_24gx4_4080_16gx4", "nvidia_10_3090_24gx8"),
    ),
    "R1 IQ2_XXS on three boxes of eight": (
        "deepseek_r1_ud_iq2_xxs_partial_offload",
        ("nvidia_15_4080_16gx8", "nvidia_20_3080_12gx8", "nvidia_21_4090_24gx4_3060_12gx4"),
    ),
}
_CARDS = (
    exo.REPORTED,
    "mlx-community/DeepSeek-V3.1-4bit",
    "mlx-community/GLM-4.7-8bit-gs32",
    "mlx-community/Kimi-K2-Instruct-4bit",
)


def absence(instance: Instance) -> str | None:
    """Return which file of an instance is not there, in a sentence; None where it can be read, or is broken."""
    try:
        instance.make()
    except AbsentDataError as absent:
        return str(absent)
    except PublicDataError:
        # A run that fails says why.
        return None
    return None


def _folder(name: str) -> Path:
    folder = instances_folder()
    if folder is None:
        raise PublicDataError("no public instances; name the folder that holds `instances` in LAYERFIT_DATA.")
    return folder / name


def _chain(cluster: str) -> Problem:
    program = next(name for name, of in helix.CLUSTERS.items() if of == cluster)
    return helix.chain_problem(helix.read_instance(_folder("helix"), program))


def _on_workers(estimate: str, workers: tuple[str, ...]) -> Problem:
    folder = _folder("gpustack")
    return gpustack.problem_of(
        gpustack.read_estimate(folder, estimate),
        tuple(gpustack.read_worker(folder, f"linux_{worker}") for worker in workers),
    )


def _card(model: str) -> Problem:
    memory = tuple(gb * 10**9 for gb in exo.REPORTED_GB)
    return exo.problem_of(exo.read_models(_folder("exo"))[model], memory)


def _parallax(case: int) -> Problem:
    return parallax.problem_of(parallax.read_cases(_folder("parallax"))[case])


def _home(estimate: str) -> Problem:
    sizes = gpustack.read_estimate(_folder("gpustack"), estimate)
    return prima.problem_of(prima.read_cluster(_folder("prima_cpp")), sizes.layer_bytes, sizes.output_bytes)


def _macs(model: str) -> Problem:
    folder = _folder("distilp")
    devices = tuple(distilp.read_device(folder, name, is_head=False) for name in distilp.DEVICES)
    return distilp.problem_of(distilp.read_model(folder, model), devices)


def _family(name: str, instances: tuple[Instance, ...], objectives: tuple[str, ...], target: Target) -> Family:
    return Family(
        name=name,
        instances=instances,
        targets=dict.fromkeys(objectives, target),
        limit_seconds=60,
        most_mib=None,
        rivals=(),
        compared=0,
        public=True,
    )


def _first(family: Family, count: int) -> Family:
    return replace(family, instances=family.instances[:count], limit_seconds=20)


_HELIX = _family(
    "helix-chains",
    tuple(Instance(cluster, partial(_chain, cluster)) for cluster in _CHAINS),
    ("throughput",),
    Target(60.0, None),
)
_GPUSTACK = _family(
    "gpustack-workers",
    tuple(Instance(name, partial(_on_workers, *asked)) for name, asked in _WORKERS.items()),
    _MEMORY,
    _NO_TARGET,
)
_EXO = _family("exo-cards", tuple(Instance(card, partial(_card, card)) for card in _CARDS), _MEMORY, _NO_TARGET)
_PARALLAX = _family(
    "parallax-cases",
    tuple(Instance(f"case {case}", partial(_parallax, case)) for case in range(5)),
    ("nodes", "balance", "latency", "throughput"),
    _NO_TARGET,
)
_PRIMA = _family(
    "prima-home",
    tuple(Instance(name, partial(_home, f"{name}_partial_offload")) for name in ("llama3_8b", "llama3_70b")),
    ("nodes", "balance"),
    _NO_TARGET,
)
_MACS = _family(
    "distilp-macs",
    tuple(Instance(model, partial(_macs, model)) for model in reversed(distilp.MODELS)),
    ("nodes", "latency"),
    _NO_TARGET,
)

PUBLIC = (_HELIX, _GPUSTACK, _EXO, _PARALLAX, _PRIMA, _MACS)
PUBLIC_SMALL = (
    _first(_HELIX, 2),
    _first(_GPUSTACK, 1),
    _first(_EXO, 1),
    _first(_PARALLAX, 2),
    _first(_PRIMA, 2),
    _first(_MACS, 2),
)

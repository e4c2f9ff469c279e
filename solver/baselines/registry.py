"""The split rules of engines by name."""

from __future__ import annotations

from solver.baselines.accelerate import accelerate, accelerate_balanced
from solver.baselines.cake import cake
from solver.baselines.deepspeed import deepspeed
from solver.baselines.even import sglang, vllm
from solver.baselines.exo import exo, exo_ring
from solver.baselines.halda import distilp, prima, prima_memory
from solver.baselines.llamacpp import llamacpp
from solver.baselines.parallax import parallax
from solver.baselines.strategy import Strategy
from solver.baselines.swarms import petals, swarm

__all__ = ["STRATEGIES"]

_ALL = (
    Strategy(
        name="vllm",
        title="vLLM, even split",
        source="vLLM 0.28, vllm/distributed/utils.py, get_pp_indices",
        rule=vllm,
    ),
    Strategy(
        name="sglang",
        title="SGLang, even split",
        source="SGLang 0.5, sglang/srt/distributed/utils.py, get_pp_indices",
        rule=sglang,
    ),
    Strategy(
        name="llamacpp",
        title="llama.cpp, by free memory",
        source="llama.cpp b11434, src/llama-model.cpp, load_tensors",
        rule=llamacpp,
        places_head=True,
    ),
    Strategy(
        name="exo-ring",
        title="exo 0.x, ring by memory",
        source="exo 0.0.15, exo/topology/ring_memory_weighted_partitioning_strategy.py and partitioning_strategy.py",
        rule=exo_ring,
    ),
    Strategy(
        name="exo",
        title="exo 1.0, smallest ring by memory",
        source="exo 1.0 at b5375f8c, src/exo/master/placement.py and placement_utils.py",
        rule=exo,
    ),
    Strategy(
        name="accelerate",
        title="accelerate, in order",
        source="accelerate, src/accelerate/utils/modeling.py, infer_auto_device_map",
        rule=accelerate,
    ),
    Strategy(
        name="accelerate-balanced",
        title="accelerate, balanced",
        source="accelerate, src/accelerate/utils/modeling.py, get_balanced_memory and infer_auto_device_map",
        rule=accelerate_balanced,
    ),
    Strategy(
        name="parallax",
        title="Parallax, greedy and water-filling",
        source="Parallax at 162354a0, src/scheduling/layer_allocation.py",
        rule=parallax,
    ),
    Strategy(
        name="deepspeed",
        title="DeepSpeed, parameters",
        source="DeepSpeed, deepspeed/runtime/utils.py, partition_balanced",
        rule=deepspeed,
    ),
    Strategy(
        name="prima",
        title="prima.cpp, Halda with one round",
        source="prima.cpp at bdf9d8e7, common/common.cpp, assign_layers_and_select_devices; arXiv:2504.08791",
        rule=prima,
    ),
    Strategy(
        name="prima-memory",
        title="prima.cpp, by memory",
        source="prima.cpp at bdf9d8e7, common/common.cpp, assign_layers_to_device without HiGHS",
        rule=prima_memory,
    ),
    Strategy(
        name="distilp",
        title="distilp, one round",
        source="distilp at 43eda2e, src/distilp/solver/halda_p_solver.py, with k = 1",
        rule=distilp,
    ),
    Strategy(
        name="cake",
        title="cake, by speed",
        source="cake, cake-core/src/cake/sharding/default.rs, DefaultStrategy",
        rule=cake,
    ),
    Strategy(
        name="petals",
        title="Petals, fewest servers",
        source="Petals, src/petals/server/block_selection.py; arXiv:2209.01188, appendix D",
        rule=petals,
    ),
    Strategy(
        name="swarm",
        title="SWARM, equal stages",
        source="SWARM, arXiv:2301.11913, as Helix lays it out (arXiv:2406.01566)",
        rule=swarm,
    ),
)

STRATEGIES = {strategy.name: strategy for strategy in _ALL}

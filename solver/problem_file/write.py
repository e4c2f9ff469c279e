"""A problem written as its document: the same problem always gives the same one.

What only devices that share memories need is written only where it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solver.problem_file.document import SCHEMA

if TYPE_CHECKING:
    from solver.problem import Block, Ends, Links, Node, Problem, Rules

__all__ = ["problem_to_document"]


def problem_to_document(problem: Problem) -> dict[str, Any]:
    """Return the document of a problem, counts expanded: the same problem always gives the same document."""
    pools = [
        {"name": pool.name, "budget_bytes": pool.budget_bytes, "machine": pool.machine, **_held(pool.held_bytes)}
        for pool in problem.pools
    ]
    count = problem.block_count
    shapes = [
        {**_ends(shape.ends), "blocks": [_block(block) for block in shape.blocks[:count]]} for shape in problem.shapes
    ]
    return {
        "schema": SCHEMA,
        **_ends(problem.ends),
        "activation_bytes": problem.activation_bytes,
        "context_tokens": problem.context_tokens,
        "blocks": [_block(block) for block in problem.blocks[:count]],
        **({"head_alone": True} if problem.head_alone else {}),
        "nodes": [_node(node) for node in problem.nodes],
        **({"pools": pools} if pools else {}),
        **({"shapes": shapes} if shapes else {}),
        "links": _links(problem.links),
        "rules": _rules(problem.rules),
    }


def _ends(ends: Ends) -> dict[str, int]:
    return {
        "input_bytes": ends.input_bytes,
        "output_bytes": ends.output_bytes,
        "tied_bytes": ends.tied_bytes,
        "host_bytes": ends.host_bytes,
    }


def _block(block: Block) -> dict[str, int | None]:
    experts = {"expert_bytes": block.expert_bytes, "expert_active_bytes": block.expert_active_bytes}
    return {
        "weight_bytes": block.weight_bytes,
        "cache_bytes": block.cache_bytes,
        "active_bytes": block.active_bytes,
        "cache_bytes_per_token": block.cache_bytes_per_token,
        "cache_fixed_bytes": block.cache_fixed_bytes,
        **(experts if any(experts.values()) else {}),
    }


def _node(node: Node) -> dict[str, Any]:
    return {
        "name": node.name,
        "budget_bytes": node.budget_bytes,
        **_held(node.held_bytes),
        "bytes_per_second": node.bytes_per_second,
        "stage_ns": None if node.stage_ns is None else list(node.stage_ns),
        "count": 1,
        **({} if node.machine is None else {"machine": node.machine}),
        **_draws(node),
    }


def _held(size_bytes: int) -> dict[str, int]:
    return {"held_bytes": size_bytes} if size_bytes else {}


def _draws(node: Node) -> dict[str, Any]:
    draws = node.draws
    if draws is None:
        return {}
    host = {"host_pool": draws.host_pool, "host_bytes_per_second": draws.host_bytes_per_second}
    return {
        "pools": list(draws.pools),
        "cards": list(draws.cards),
        **({} if draws.host_pool is None else host),
        **({"shape": draws.shape} if draws.shape else {}),
    }


def _links(links: Links) -> dict[str, Any]:
    return {
        "default": {"latency_ns": links.default.latency_ns, "bytes_per_second": links.default.bytes_per_second},
        "pairs": [
            {
                "from": pair.source,
                "to": pair.target,
                "latency_ns": pair.link.latency_ns,
                "bytes_per_second": pair.link.bytes_per_second,
                "forbidden": pair.link.forbidden,
            }
            for pair in links.pairs
        ],
    }


def _rules(rules: Rules) -> dict[str, Any]:
    return {
        "pin": [[block, node] for block, node in rules.pins],
        "first": rules.first,
        "last": rules.last,
        "order": list(rules.order),
        "exclude": list(rules.exclude),
        "max_nodes": rules.max_nodes,
        "min_blocks": rules.min_blocks,
        **({"apart": True} if rules.apart else {}),
        **({"replicas": True} if rules.replicas else {}),
    }

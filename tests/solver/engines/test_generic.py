"""The generic engine: every byte of a model on a stage, caches of the request, and what the cluster leaves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.plans import FOUR_MACHINES, REQUEST, six_blocks
from support.problems import NO_RULES

from solver.cluster_file import parse_cluster
from solver.engines.generic import EnginePlan, generic, tied_bytes
from solver.errors import InputError
from solver.problem import Ends, Link, LinkPair, Node
from solver.workload import IndexerRule, Workload
from tensors.architecture import MissingFact
from tensors.architecture.facts import Experts
from tensors.errors import ArchitectureError
from tensors.inventory import Inventory, Part, Role, Tensor
from tensors.synthetic import example_inventory
from tensors.units import GIB

CLUSTER = parse_cluster(FOUR_MACHINES, "machines.toml")


def asked(inventory: Inventory, workload: Workload = REQUEST, cluster_text: str = FOUR_MACHINES) -> EnginePlan:
    return generic(inventory, parse_cluster(cluster_text, "machines.toml"), workload, NO_RULES)


def with_tensor(inventory: Inventory, name: str, size_bytes: int, part: Part, role: Role) -> Inventory:
    tensor = Tensor(name, (size_bytes,), "I8", size_bytes, 0, 0, part, role, None)
    return replace(inventory, tensors=(*inventory.tensors, tensor))


def without(inventory: Inventory, part: Part) -> Inventory:
    return replace(inventory, tensors=tuple(tensor for tensor in inventory.tensors if tensor.part is not part))


@pytest.mark.parametrize("inventory", [six_blocks(), example_inventory()], ids=["six blocks", "the example"])
@pytest.mark.parametrize("resident", [False, True], ids=["without nextn", "with nextn"])
def test_every_byte_of_the_model_is_placed_once(inventory: Inventory, resident: bool) -> None:
    """All that the files hold, but for nextn blocks that nobody asked for."""
    problem = asked(inventory, replace(REQUEST, resident_nextn=resident)).problem
    left_out = 0 if resident else inventory.part_bytes(Part.NEXTN)
    placed = sum(block.weight_bytes for block in problem.blocks) + problem.ends.input_bytes + problem.ends.output_bytes

    assert inventory.weight_bytes - left_out == placed
    assert inventory.trunk_blocks + (inventory.nextn_blocks if resident else 0) == len(problem.blocks)


def test_the_ends_and_what_belongs_to_no_block() -> None:
    model = with_tensor(six_blocks(), "vision.weight", 77, Part.OTHER, Role.VISION)
    placed = asked(model)

    assert Ends(input_bytes=GIB + 77, output_bytes=GIB, tied_bytes=0, host_bytes=0) == placed.problem.ends
    assert "77 B of tensors that belong to no block are loaded with the input." in placed.notes


def test_a_tied_head_is_a_copy_of_the_token_embedding_and_of_nothing_else() -> None:
    """Tables of positions or of layers are no matrix of the head."""
    model = replace(without(six_blocks(), Part.HEAD), tied=True)
    for name in ("per_layer_token_embd.weight", "position_embd.weight", "token_types.weight", "token_embd_norm.weight"):
        model = with_tensor(model, name, 1000, Part.INPUT, Role.EMBEDDING)
    model = with_tensor(model, "output_norm.weight", 5, Part.HEAD, Role.NORM)

    assert GIB == tied_bytes(model)
    assert Ends(GIB + 4000, GIB + 5, GIB, 0) == asked(model).problem.ends


def test_what_a_token_reads_counts_the_experts_in_use_and_the_head() -> None:
    """3 of 8 experts of 100 bytes are 37.5, rounded up; the rest of a block is always read, and its cache."""
    model = six_blocks()
    experts = Tensor("blk.0.ffn_up_exps.weight", (100,), "I8", 100, 0, 0, Part.TRUNK, Role.ROUTED_EXPERT, 0)
    model = replace(
        model,
        tensors=(*model.tensors, experts),
        architecture=replace(model.architecture, experts=Experts(routed=8, used=3, shared=0)),
    )
    blocks = asked(model).problem.blocks

    assert 5 * GIB + 100 == blocks[0].weight_bytes
    assert 5 * GIB + 38 + blocks[0].cache_bytes == blocks[0].active_bytes
    assert 5 * GIB + blocks[1].cache_bytes == blocks[1].active_bytes
    assert 5 * GIB + blocks[5].cache_bytes + GIB == blocks[5].active_bytes


def test_a_cache_grows_with_context_and_sequences_and_says_so_a_token() -> None:
    """65,536 latent values a token and block in Q8_0: 34 bytes for each 32."""
    per_token = 65536 // 32 * 34
    one = asked(six_blocks(), replace(REQUEST, context_tokens=100)).problem
    three = asked(six_blocks(), replace(REQUEST, context_tokens=100, sequences=3)).problem
    halves = asked(six_blocks(), replace(REQUEST, context_tokens=100, cache_type_k="f16")).problem

    assert [(per_token * 100, per_token)] * 6 == [(b.cache_bytes, b.cache_bytes_per_token) for b in one.blocks]
    assert [(per_token * 300, 3 * per_token)] * 6 == [(b.cache_bytes, b.cache_bytes_per_token) for b in three.blocks]
    assert [65536 * 2 * 100] * 6 == [block.cache_bytes for block in halves.blocks]
    assert (100, 100) == (one.context_tokens, three.context_tokens)


def test_indexer_keys_are_kept_by_all_blocks_by_some_or_by_none() -> None:
    """The example has indexers of its own in 21 of 78 blocks; a nextn block keeps none."""
    model = example_inventory()
    kept = {
        rule: asked(model, replace(REQUEST, indexer=rule, resident_nextn=True)).problem.blocks for rule in IndexerRule
    }
    with_keys = {
        rule: [
            index for index, block in enumerate(blocks) if block.cache_bytes > kept[IndexerRule.NONE][index].cache_bytes
        ]
        for rule, blocks in kept.items()
    }

    assert list(range(78)) == with_keys[IndexerRule.CONSERVATIVE]
    assert list(model.architecture.full_indexer_blocks) == with_keys[IndexerRule.OPTIMIZED]
    assert [] == with_keys[IndexerRule.NONE]
    assert kept[IndexerRule.NONE][78].cache_bytes > 0


@pytest.mark.parametrize("per_token", [0, 1, 7, 6_000_001])
def test_given_cache_bytes_are_spread_over_the_trunk_to_the_byte(per_token: int) -> None:
    """What a token adds is rounded up for each block, so that a longer context is never sized too small."""
    request = replace(REQUEST, cache_bytes_per_token=per_token, sequences=2, context_tokens=99, resident_nextn=True)
    blocks = asked(six_blocks(), request).problem.blocks
    trunk = [block.cache_bytes for block in blocks[:6]]

    assert per_token * 2 * 99 == sum(trunk)
    assert max(trunk) - min(trunk) <= 1
    assert all(block.cache_bytes_per_token * 99 >= block.cache_bytes for block in blocks)  # type: ignore[operator]
    assert (0, 0) == (blocks[6].cache_bytes, blocks[6].cache_bytes_per_token)


def test_given_cache_bytes_need_no_rule_of_the_architecture() -> None:
    """Without them, the error says which key is missing."""
    model = six_blocks()
    unknown = replace(model, architecture=replace(model.architecture, cache=MissingFact("no key says how.")))

    assert 6 == len(asked(unknown, replace(REQUEST, cache_bytes_per_token=0)).problem.blocks)
    with pytest.raises(ArchitectureError) as caught:
        asked(unknown)
    assert "Six: no key says how." == str(caught.value)


def test_budgets_are_what_reserves_and_ceilings_leave() -> None:
    problem = asked(six_blocks()).problem

    assert (
        Node("desk-1", 24 * GIB, None, None),
        Node("desk-2", 24 * GIB, None, None),
        Node("studio", 20 * GIB, None, None),
        Node("pocket", 0, None, None),
    ) == problem.nodes


def test_a_node_whose_reserve_takes_all_is_noted() -> None:
    """Its budget is 0 and not less, whatever the reserve exceeds its memory by."""
    text = '[[node]]\nname = "pocket"\nmemory = "4 GiB"\n[[node]]\nname = "desk"\nmemory = "64 GiB"\n'
    placed = asked(six_blocks(), cluster_text=text)

    assert 0 == placed.problem.nodes[0].budget_bytes
    assert "pocket: the reserve of 8.00 GiB leaves nothing; no blocks go there." == placed.notes[-1]


def test_speeds_and_links_are_those_of_the_cluster() -> None:
    text = FOUR_MACHINES.replace('memory = "8 GiB"', 'memory = "8 GiB"\nbandwidth = "80 GB/s"')
    problem = asked(six_blocks(), cluster_text=text).problem

    assert 80 * 10**9 == problem.nodes[3].bytes_per_second
    assert Link(500_000, 312_500_000, forbidden=False) == problem.links.default
    assert (LinkPair("studio", "desk-1", Link(300, 1_250_000_000, forbidden=False)),) == problem.links.pairs


def test_an_activation_is_two_bytes_a_value_and_nothing_where_no_width_is_known() -> None:
    model = six_blocks()
    no_width = replace(model, architecture=replace(model.architecture, hidden_size=None))

    assert 12_288 == asked(model).problem.activation_bytes
    assert 0 == asked(no_width).problem.activation_bytes


def test_blocks_that_are_left_out_are_noted_with_their_bytes() -> None:
    note = "1 multi-token prediction block of 2.00 GiB in all left out: engines skip them unless told otherwise."

    assert note in asked(six_blocks()).notes
    assert note not in asked(six_blocks(), replace(REQUEST, resident_nextn=True)).notes


def test_a_file_without_blocks_is_no_model() -> None:
    adapter = replace(without(without(six_blocks(), Part.TRUNK), Part.NEXTN), trunk_blocks=0, nextn_blocks=0)
    with pytest.raises(InputError) as caught:
        asked(adapter)

    assert "Six: it has no numbered blocks; expected a model of layers. Check that it is not an adapter." == str(
        caught.value
    )


def test_a_card_that_works_in_a_unified_memory_is_named_beside_it() -> None:
    """It adds nothing to what that memory holds."""
    unified = '[[node]]\nname = "a"\nmemory = "64 GiB"\nunified = true\n'
    named = f'{unified}gpu = [{{ class = "c" }}]\n'

    assert asked(six_blocks(), cluster_text=unified).problem == asked(six_blocks(), cluster_text=named).problem


def test_a_card_that_is_alone_is_the_machine_and_its_memory_the_pool() -> None:
    text = '[[node]]\nname = "a"\nmemory = "64 GiB"\ngpu = [{ class = "c", memory = "40 GiB", bandwidth = "1 GB/s" }]\n'
    problem = asked(six_blocks(), cluster_text=text).problem

    assert (Node("a", 36 * GIB, 10**9, None),) == problem.nodes
    assert problem.is_plain

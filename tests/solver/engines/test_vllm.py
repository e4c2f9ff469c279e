"""Problems of vLLM's ranks: budgets, what blocks take, names of devices, rules and notes."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest
from support.problems import NO_RULES
from support.served import REQUEST, cards, llama_70b_fp8, model, small_model, tensor

from solver.cluster_file import parse_cluster
from solver.engines.servers.ranks import default_placement, served_figures
from solver.engines.vllm import PROFILE, overhead_terms, vllm
from solver.errors import InputError
from solver.measures import stage_load
from solver.problem import Ends, Link, Placement, Rules, Stage
from solver.problem_file import checked
from tensors.architecture.facts import Experts
from tensors.architecture.terms import full
from tensors.inventory import Part, Role
from tensors.units import GIB

if TYPE_CHECKING:
    from solver.engines.servers.build import ServedProblem
    from solver.engines.servers.profile import ServerSettings

MIB = 2**20


def settings(width: int = 1, overhead_bytes: int = 0) -> ServerSettings:
    return replace(PROFILE.settings(width), overhead_bytes=overhead_bytes)


def asked(width: int = 1, rules: Rules = NO_RULES, **facts: object) -> ServedProblem:
    return vllm(small_model(**facts), cards(("desk", 4, "1 GiB")), REQUEST, rules, settings(width))  # type: ignore[arg-type]


def test_a_budget_is_the_share_of_every_card_and_blocks_take_pages() -> None:
    problem = asked().problem
    page = 16 * 2 * 32 * 2

    assert ["desk/gpu0", "desk/gpu1", "desk/gpu2", "desk/gpu3"] == [node.name for node in problem.nodes]
    assert {"desk"} == {node.machine for node in problem.nodes}
    assert {-(-GIB * 9 // 10)} == {node.budget_bytes for node in problem.nodes}
    assert [(MIB, 512 * page, page // 16, 0)] * 4 == [
        (block.weight_bytes, block.cache_bytes, block.cache_bytes_per_token, block.cache_fixed_bytes)
        for block in problem.blocks
    ]
    assert Ends(64 * 64 * 2, 64 * 64 * 2, 0, 0) == problem.ends
    assert (8192, 128) == (problem.context_tokens, problem.activation_bytes)


def test_the_problem_is_one_that_can_be_written_and_read() -> None:
    problem = asked().problem

    assert problem == checked(problem, "problem.json")


def test_a_rank_of_two_cards_is_one_device_of_twice_the_budget() -> None:
    """Heads of keys are shared out, matrices cut: together the two hold what one did."""
    one, two = asked().problem, asked(2).problem

    assert ["desk/gpu0", "desk/gpu2"] == [node.name for node in two.nodes]
    assert {2 * node.budget_bytes for node in one.nodes} == {node.budget_bytes for node in two.nodes}
    assert one.blocks == two.blocks
    assert one.ends == two.ends


def test_heads_that_do_not_go_round_are_kept_more_than_once() -> None:
    """Two heads on four cards: twice the cache."""
    one, four = asked().problem, asked(4).problem

    assert ["desk"] == [node.name for node in four.nodes]
    assert [None] == [node.machine for node in four.nodes]
    assert [2 * block.cache_bytes for block in one.blocks] == [block.cache_bytes for block in four.blocks]


def test_a_tied_embedding_is_on_both_ends_and_once_where_one_rank_holds_both() -> None:
    served = asked(tied=True)
    table = 64 * 64 * 2

    assert Ends(table, table, table, 0) == served.problem.ends
    whole = served_figures(served, Placement((Stage(0, 4, "desk/gpu0"),)))
    halves = served_figures(served, Placement((Stage(0, 2, "desk/gpu0"), Stage(2, 4, "desk/gpu1"))))
    assert [4 * MIB + table] == [rank.weight_bytes for rank in whole.ranks]
    assert [2 * MIB + table] * 2 == [rank.weight_bytes for rank in halves.ranks]


def test_what_a_token_reads_counts_the_experts_in_use_and_the_head() -> None:
    routed = tensor("model.layers.0.mlp.experts.up", (8, 64, 64), 2, Part.TRUNK, Role.ROUTED_EXPERT, 0)
    served = small_model(2)
    mixture = replace(
        served,
        tensors=(*served.tensors, routed),
        architecture=replace(served.architecture, experts=Experts(routed=8, used=3, shared=0)),
    )
    blocks = vllm(mixture, cards(("desk", 2, "1 GiB")), REQUEST, NO_RULES, settings(2)).problem.blocks

    assert MIB + 8 * 8192 == blocks[0].weight_bytes
    assert MIB + 3 * 8192 + blocks[0].cache_bytes == blocks[0].active_bytes
    assert MIB + 8192 + blocks[1].cache_bytes == blocks[1].active_bytes


@pytest.mark.parametrize("width", [1, 2])
def test_figures_of_a_card_are_those_of_its_stage_divided_by_the_width(width: int) -> None:
    """Whatever the cut: the problem and the ranks say the same."""
    random = Random(width)
    served = vllm(llama_70b_fp8(), cards(("a", 4, "24 GiB"), ("b", 4, "48 GiB")), REQUEST, NO_RULES, settings(width))
    for _ in range(20):
        names = random.sample([node.name for node in served.problem.nodes], random.randint(1, 8 // width))
        cuts = sorted(random.sample(range(1, 80), len(names) - 1))
        stages = [Stage(*run, name) for run, name in zip(pairwise([0, *cuts, 80]), names, strict=True)]
        figures = served_figures(served, Placement(tuple(stages)))
        for stage, rank in zip(stages, figures.ranks, strict=True):
            load = stage_load(served.problem, stage)

            assert load.weight_bytes == width * rank.weight_bytes
            assert load.budget_bytes - load.weight_bytes == width * rank.available_bytes
            assert (load.load_bytes <= load.budget_bytes) == (
                rank.available_bytes >= 512 * served.pool.unit_bytes(stage.start, stage.end)
            )


def test_the_smallest_card_binds_the_share_of_all() -> None:
    text = (
        '[[node]]\nname = "a"\nmemory = "64 GiB"\ngpu = [{ class = "x", memory = "24 GiB" }]\n'
        '[[node]]\nname = "b"\nmemory = "64 GiB"\nreserve = { gpu = { fraction = 0.25 } }\n'
        'gpu = [{ class = "y", memory = "48 GiB" }]\n'
    )
    served = vllm(small_model(), parse_cluster(text, "cards.toml"), REQUEST, NO_RULES, settings())

    assert (Fraction(3, 4), "b/gpu0") == (served.share.value, served.share.card)
    assert [18 * GIB, 36 * GIB] == [node.budget_bytes for node in served.problem.nodes]
    assert (
        "--gpu-memory-utilization is 0.75 on every card: its reserve leaves b/gpu0 no more. "
        "Assumed: vllm 0.28, ranks of 1 card."
    ) in served.notes


def test_links_are_free_inside_a_machine_and_as_written_between_machines() -> None:
    links = (
        '[links]\nlatency = "0.5 ms"\nrate = "1 GB/s"\n'
        'pair = [{ from = "a", to = "b", latency = "0.1 ms", both = true },\n'
        '        { from = "b", to = "c", latency = "forbidden" }]\n'
    )
    served = vllm(
        small_model(), cards(("a", 2, "1 GiB"), ("b", 1, "1 GiB"), ("c", 1, "1 GiB"), links=links), REQUEST, NO_RULES,
        settings(),
    )  # fmt: skip
    link = served.problem.link

    assert Link(0, None, forbidden=False) == link("a/gpu0", "a/gpu1") == link("a/gpu1", "a/gpu0")
    assert Link(100_000, 10**9, forbidden=False) == link("a/gpu1", "b") == link("b", "a/gpu0")
    assert link("b", "c").forbidden
    assert Link(500_000, 10**9, forbidden=False) == link("c", "a/gpu0")


def test_speeds_are_those_of_all_cards_of_a_rank() -> None:
    text = (
        '[[node]]\nname = "a"\nmemory = "64 GiB"\n'
        'gpu = [{ class = "x", memory = "1 GiB", count = 2, bandwidth = "300 GB/s" }]\n'
    )
    served = vllm(small_model(), parse_cluster(text, "cards.toml"), REQUEST, NO_RULES, settings(2))

    assert [600 * 10**9] == [node.bytes_per_second for node in served.problem.nodes]


def test_rules_may_name_a_machine_of_one_device_and_any_device() -> None:
    rules = replace(NO_RULES, pins=((0, "desk/gpu1"),), first="desk/gpu1", order=("desk/gpu1", "desk/gpu3"))

    assert rules == asked(rules=rules).problem.rules
    assert "desk" == asked(4, rules=replace(NO_RULES, last="desk")).problem.rules.last


@pytest.mark.parametrize(
    ("rule", "rules"),
    [
        ("pin", replace(NO_RULES, pins=((0, "desk"),))),
        ("first", replace(NO_RULES, first="desk")),
        ("last", replace(NO_RULES, last="desk")),
        ("order", replace(NO_RULES, order=("desk",))),
    ],
)
def test_rules_that_name_a_machine_of_several_devices_are_refused(rule: str, rules: Rules) -> None:
    with pytest.raises(InputError) as caught:
        asked(rules=rules)

    assert (
        f'rule {rule}: "desk" has 4 devices that take a rank each; expected one of them. Write "desk/gpu0".'
    ) == str(caught.value)


def test_excluded_devices_are_no_part_of_the_problem_and_bind_no_share() -> None:
    rules = replace(NO_RULES, exclude=("desk/gpu0", "tower"))
    cluster = cards(("desk", 3, "1 GiB"), ("tower", 2, "2 GiB"))
    problem = vllm(small_model(), cluster, REQUEST, rules, settings()).problem

    assert ["desk/gpu1", "desk/gpu2"] == [node.name for node in problem.nodes]
    assert () == problem.rules.exclude


def test_what_is_neither_weights_nor_cache_is_taken_off_every_card_and_named() -> None:
    """8192 wide and 28672 in the feed-forward: 6 and 3 of them for 2048 tokens; 4 copies of 256 rows of logits."""
    llama, two = llama_70b_fp8(), cards(("desk", 8, "24 GiB"))
    terms = overhead_terms(llama, PROFILE.settings(), ranks=8)
    served = vllm(llama, two, REQUEST, NO_RULES)

    assert {
        "activations": 2048 * (6 * 8192 + 3 * 28672) * 2,
        "logits": 256 * 128256 * 4 * 4,
        "workspaces": 512 * MIB,
        "graphs": GIB,
        "collectives": 512 * MIB,
    } == terms
    assert sum(terms.values()) == served.overhead_bytes
    assert {-(-24 * GIB * 9 // 10) - served.overhead_bytes} == {node.budget_bytes for node in served.problem.nodes}
    assert (
        "Beside weights and cache, an upper estimate for every card: activations 528.00 MiB, logits 501.00 MiB, "
        "workspaces 512.00 MiB, graphs 1.00 GiB, collectives 512.00 MiB."
    ) in served.notes
    assert "3.00 GiB of every card are kept for what is neither weights nor cache." in served.notes
    assert 0 == overhead_terms(llama, PROFILE.settings(), ranks=1)["collectives"]
    assert 0 < overhead_terms(llama, PROFILE.settings(2), ranks=1)["collectives"]


def test_experts_in_use_make_activations_wide() -> None:
    routed = tensor("model.layers.0.mlp.experts.up", (8, 96, 64), 2, Part.TRUNK, Role.ROUTED_EXPERT, 0)
    mixture = model((routed,), (full(0, 1, 8, 8),), 1, experts=Experts(routed=8, used=3, shared=0))

    assert 2048 * (6 * 64 + 3 * 3 * 96) * 2 == overhead_terms(mixture, PROFILE.settings(), ranks=1)["activations"]


def test_a_budget_below_what_is_kept_is_nothing_and_not_less() -> None:
    served = vllm(small_model(), cards(("desk", 2, "1 GiB")), REQUEST, NO_RULES, settings(overhead_bytes=2 * GIB))

    assert [0, 0] == [node.budget_bytes for node in served.problem.nodes]


def test_blocks_that_are_left_out_and_other_tensors_are_noted() -> None:
    served = small_model()
    nextn = tensor("model.layers.4.eh_proj.weight", (64, 64), 2, Part.NEXTN, Role.NEXTN, 4)
    tower = tensor("visual.proj.weight", (8, 8), 2, Part.OTHER, Role.VISION, None)
    more = replace(served, tensors=(*served.tensors, nextn, tower), nextn_blocks=1)
    alone = vllm(more, cards(("desk", 1, "1 GiB")), REQUEST, NO_RULES, settings())
    drafted = vllm(more, cards(("desk", 1, "1 GiB")), replace(REQUEST, resident_nextn=True), NO_RULES, settings())

    assert (
        "1 multi-token prediction block of 8.00 KiB in all left out: engines skip them unless told otherwise.",
        "128 bytes of tensors that belong to no block are loaded with the input.",
    ) == alone.notes[:2]
    assert (4, 5) == (len(alone.problem.blocks), len(drafted.problem.blocks))
    assert 64 * 64 * 2 + 128 == alone.problem.ends.input_bytes


def test_a_file_without_blocks_is_no_model() -> None:
    with pytest.raises(InputError) as caught:
        vllm(model((), (), 0), cards(("desk", 1, "1 GiB")), REQUEST, NO_RULES)

    assert "Served: it has no numbered blocks; expected a model of layers. Check that it is not an adapter." == str(
        caught.value
    )


def test_the_default_cut_is_the_engines() -> None:
    served = vllm(llama_70b_fp8(), cards(("desk", 6, "48 GiB")), REQUEST, NO_RULES, settings())
    placement = default_placement(served, tuple(device.name for device in served.devices))

    assert [13, 13, 13, 14, 14, 13] == [stage.end - stage.start for stage in placement.stages]
    assert 80 == placement.stages[-1].end


def test_a_share_that_the_drivers_context_leaves_no_room_for_is_noted() -> None:
    """The engine starts only where all of its share is free."""
    note = (
        "The engine does not start where its share is not free: a driver's context takes 320 to 460 MiB of desk/gpu0 "
        "before, and the reserve keeps less. Keep more."
    )
    kept, not_kept = (
        vllm(small_model(), cards(("desk", 2, "24 GiB"), reserve=reserve), REQUEST, NO_RULES, settings())
        for reserve in ("0.05", "0.01")
    )

    assert note not in kept.notes
    assert note in not_kept.notes

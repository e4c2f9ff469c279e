"""What the text of a plan says of its nodes, seams, heads, workload and reserves."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.plan_texts import section, text_of
from support.plans import model_plan, six_blocks, stopped_plan
from support.problems import NO_RULES, problem_of

from solver.cluster_file import parse_cluster
from solver.planning import plan
from solver.problem import Ends, Link, LinkPair, Links
from solver.report.plan_sentences import request_facts
from tensors.inventory import Part


@pytest.mark.parametrize(
    ("weights", "budgets", "objectives", "sentence"),
    [
        (
            (4, 4),
            (5, 5),
            "nodes",
            "As few nodes as arithmetic allows, and the assumed imbalance of 1.10 holds at 1.0000.",
        ),
        (
            (5, 4),
            (5, 5),
            "nodes",
            "As few nodes as arithmetic allows, but the assumed imbalance of 1.10 does not hold at 1.1111.",
        ),
        (
            (4, 4),
            (9, 9),
            "balance",
            "2 nodes where arithmetic asks for 1, but the assumed imbalance of 1.10 holds at 1.0000.",
        ),
        (
            (5, 4),
            (9, 9),
            "balance",
            "2 nodes where arithmetic asks for 1, and the assumed imbalance of 1.10 does not hold at 1.1111.",
        ),
        ((5, 4), (9,), "balance", "As few nodes as arithmetic allows, and one alone has nothing to be uneven with."),
        (
            (11, 9),
            (11, 11),
            "balance",
            "As few nodes as arithmetic allows, and the assumed imbalance of 1.10 holds at 1.1000.",
        ),
        (
            (1100001, 899999),
            (1100001, 1100001),
            "balance",
            "As few nodes as arithmetic allows, but the assumed imbalance of 1.10 does not hold at 1.100001.",
        ),
    ],
)
def test_the_verdict_is_one_sentence_on_nodes_and_imbalance(
    weights: tuple[int, ...], budgets: tuple[int, ...], objectives: str, sentence: str
) -> None:
    assert sentence in text_of(plan(problem_of(weights, budgets), objectives)).splitlines()


def test_the_verdict_says_that_arithmetic_knows_no_rules() -> None:
    rules = replace(NO_RULES, exclude=("n0",))
    text = text_of(plan(problem_of((4, 4), (9, 4, 4), rules=rules)))

    assert (
        "2 nodes where arithmetic without the rules asks for 1, but the assumed imbalance of 1.10 holds at 1.0000."
        == " ".join(section(text, "check")[3:])
    )


@pytest.mark.parametrize(
    ("weights", "budgets", "objectives", "standing"),
    [
        ((4, 4), (5, 5), "nodes", "2, proved fewest"),
        ((3, 3, 3), (5, 5, 5), "nodes", "3, proved fewest"),
        ((4, 4), (5, 5), "balance", "2, proved fewest"),
        ((4, 4), (9, 9), "balance", "2, fewer were not looked for first"),
        ((4, 4), (9, 9), "balance,nodes", "2, fewer were not looked for first"),
    ],
)
def test_the_count_of_nodes_is_called_fewest_only_where_that_is_proved(
    weights: tuple[int, ...], budgets: tuple[int, ...], objectives: str, standing: str
) -> None:
    lines = text_of(plan(problem_of(weights, budgets), objectives)).splitlines()

    assert [standing] == [line.rsplit("  ", 1)[1] for line in lines if line.startswith("nodes ") and "minimum" in line]


def test_an_open_count_of_nodes_is_not_called_fewest() -> None:
    found = stopped_plan(interrupted=False)
    nodes, balance = found.solution.levels
    open_levels = (replace(nodes, bound=2, proof="none"), replace(balance, bound=None))
    text = text_of(replace(found, solution=replace(found.solution, levels=open_levels)))

    assert "3, not proved fewest" in text
    assert "nodes    3       not proved: bound 2, gap 33.33 %  nodes that hold a stage" in text.splitlines()
    assert "balance  0.7778  not proved, no bound yet          largest load / budget" in text.splitlines()


def test_equal_seams_share_a_row_and_columns_without_figures_are_left_out() -> None:
    links = Links(Link(0, 125_000_000, forbidden=False), (LinkPair("n1", "n2", Link(250, 125, forbidden=False)),))
    in_order = replace(NO_RULES, order=("n0", "n1", "n2", "n3", "n4"))
    problem = replace(problem_of((3, 3, 3, 3, 3), (3,) * 5, links=links, rules=in_order), activation_bytes=64)
    lines = [
        "seam after #  a token  latency  link rate",
        "1, 3, 4          64 B        –   1 Gbit/s",
        "2                64 B   250 ns   1 kbit/s",
    ]

    assert lines == section(text_of(plan(problem)), "seam after #")


def test_seams_about_which_nothing_is_known_are_not_shown() -> None:
    assert "seam" not in text_of(plan(problem_of((3, 3), (3, 3))))


def test_a_tied_head_is_named_where_one_stage_holds_both_ends() -> None:
    ends = Ends(input_bytes=4, output_bytes=5, tied_bytes=4, host_bytes=0)

    assert "1  n0    input, 0, tied head" in text_of(plan(problem_of((3,), (20,), ends=ends)))


def test_a_workload_without_an_indexer_or_nextn_blocks_names_neither() -> None:
    inventory = six_blocks()
    assert isinstance(inventory.architecture.cache, tuple)
    plain = replace(
        inventory,
        nextn_blocks=0,
        tensors=tuple(tensor for tensor in inventory.tensors if tensor.part is not Part.NEXTN),
        architecture=replace(inventory.architecture, index_topk=None, cache=inventory.architecture.cache[:6]),
    )
    text = text_of(model_plan(plain))

    assert "workload  context 16,384 tokens, 1 sequence, cache type q8_0, engine generic" in text.splitlines()


CARDS = """
[[node]]
name = "desk"
memory = "64 GiB"
gpu = [{ class = "a", memory = "24 GiB", count = 2 }, { class = "b", memory = "16 GiB" }]
"""
OWN_RESERVE = """
[[node]]
name = "tower"
memory = "64 GiB"
gpu = [{ class = "a", memory = "24 GiB" }]
reserve = { gpu = { fraction = 0.05, floor = "1 GiB" } }
"""
UNIFIED = """
[[node]]
name = "strix"
memory = "128 GiB"
unified = true
ceiling = "90 GiB"
gpu = [{ class = "c" }]
"""


def test_one_reserve_for_every_memory_is_said_once() -> None:
    cluster = '[[node]]\nname = "desk"\ncount = 3\nmemory = "64 GiB"\n'

    assert (
        "reserve   the larger of 20 % and 8.00 GiB of every memory"
        in text_of(model_plan(six_blocks(), cluster_text=cluster)).splitlines()
    )


@pytest.mark.parametrize(
    ("cluster", "more"),
    [
        (CARDS, "10 % of every card"),
        (CARDS + OWN_RESERVE, "10 % of each card on desk; the larger of 5 % and 1.00 GiB of each card on tower"),
        (CARDS + UNIFIED, "10 % of every card; a ceiling of 90.00 GiB on strix"),
    ],
    ids=["one", "two", "beside a unified memory"],
)
def test_reserves_of_cards_are_said_beside_those_of_hosts(cluster: str, more: str) -> None:
    """Cards that work in a unified memory have none of their own."""
    found = model_plan(six_blocks())
    assert found.setting is not None
    machines = parse_cluster(cluster, "cluster.toml")
    facts = request_facts(replace(found, setting=replace(found.setting, cluster=machines)))

    assert [f"the larger of 20 % and 8.00 GiB of every host memory; {more}"] == [
        fact.sentence for fact in facts if fact.word == "reserve"
    ]

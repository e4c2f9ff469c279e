"""Plans of machines with cards and hosts: what the document says of them, and that an audit sees through changes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from support.llamacpp import mixtral
from support.plan_documents import EFFORT, changed, document_of, found_in, leaves, other, places
from support.plans import REQUEST
from support.problems import NO_RULES

from solver.cluster_file import parse_cluster
from solver.engines.generic import generic
from solver.planning import Plan, Setting, plan
from solver.report.plan_html import plan_html
from solver.report.plan_text import plan_text
from solver.report.terminal import Paint
from solver.workload import USUAL_CHOICES, Choices, Offload
from tensors.units import GIB

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WANTED = "nodes,offload,balance"
CARDS = """
[reserve]
fraction = 0
floor = "2 GiB"
gpu = { fraction = 0 }
[[node]]
name = "desk"
memory = "34 GiB"
gpu = [{ class = "a", memory = "8 GiB" }, { class = "b", memory = "6 GiB" }]
"""
MIXED = """
[reserve]
fraction = 0
floor = "0 GiB"
[[node]]
name = "strix"
memory = "20 GiB"
unified = true
cpu = true
ceiling = "13 GiB"
[[node]]
name = "box"
memory = "14 GiB"
gpu = [{ class = "a", memory = "10 GiB" }]
"""
UNIFIED = """
[reserve]
fraction = 0
floor = "0 GiB"
[[node]]
name = "strix"
memory = "40 GiB"
unified = true
cpu = true
ceiling = "20 GiB"
"""
GROUPS = """
[reserve.gpu]
fraction = 0
[[node]]
name = "desk"
memory = "64 GiB"
gpu = [{ class = "a", memory = "16 GiB", count = 2 }]
"""


@cache
def planned(text: str, choices: Choices = USUAL_CHOICES, wanted: str = WANTED) -> Plan:
    """Return the plan of an expert model of 26 GiB on machines."""
    cluster = parse_cluster(text, "m")
    built = generic(mixtral(), cluster, REQUEST, NO_RULES, choices)
    setting = Setting(mixtral(), cluster, REQUEST, "generic", built.notes, None, None, choices)
    return plan(built.problem, wanted, EFFORT, setting=setting)


@cache
def document(text: str, choices: Choices = USUAL_CHOICES, wanted: str = WANTED) -> dict[str, Any]:
    return document_of(planned(text, choices, wanted), wanted)


@pytest.mark.parametrize(
    ("text", "choices", "wanted"),
    [
        (CARDS, USUAL_CHOICES, WANTED),
        (CARDS, Choices(Offload.FFN, 1), WANTED),
        (MIXED, USUAL_CHOICES, WANTED),
        (MIXED, Choices(Offload.NONE, 1), "nodes,balance"),
        (GROUPS, Choices(Offload.EXPERTS, 2), WANTED),
        (GROUPS, Choices(Offload.EXPERTS, 0), WANTED),
    ],
    ids=["cards", "networks", "mixed", "nothing left", "a pair", "any width"],
)
def test_what_was_planned_stands_and_is_valid(
    text: str, choices: Choices, wanted: str, validate_document: Callable[[Mapping[str, Any]], None]
) -> None:
    said = document(text, choices, wanted)
    validate_document(said)

    assert "optimal" == said["outcome"]
    assert () == found_in(said)
    for pool in said["pools"]:
        assert sum(pool["parts"].values()) == pool["load_bytes"] <= pool["budget_bytes"]
        assert pool["budget_bytes"] <= pool["usable_bytes"] - pool["reserve_bytes"]


def test_stages_name_their_cards_and_what_they_leave_and_pools_hold_it() -> None:
    said = document(CARDS)
    experts = {block.index: block.expert_bytes for block in mixtral().blocks()}
    pools = {pool["pool"]: pool for pool in said["pools"]}

    assert ["desk/gpu0", "desk/gpu1", "desk/ram"] == list(pools)
    assert {"desk"} == {stage["node"] for stage in said["stages"]}
    for stage in said["stages"]:
        assert stage["device"] == stage["pool"] == stage["devices"][0]
        assert sum(experts[block] for block in stage["offload_blocks"]) == stage["offload_bytes"] > 0
        assert stage["load_bytes"] == pools[stage["pool"]]["load_bytes"]
    assert sum(stage["offload_bytes"] for stage in said["stages"]) == pools["desk/ram"]["parts"]["offload"]
    assert (34 * GIB, 2 * GIB, 32 * GIB) == tuple(
        pools["desk/ram"][key] for key in ("usable_bytes", "reserve_bytes", "budget_bytes")
    )
    assert 1 == said["check"]["nodes_used"] == said["check"]["minimum_nodes"]
    assert 2 == said["check"]["devices_used"]


def test_two_devices_in_one_memory_are_one_pool() -> None:
    """13 GiB are the GPU's at most, and both together have 20."""
    said = document(MIXED, Choices(Offload.NONE, 1), "nodes,balance")
    pools = {pool["pool"]: pool for pool in said["pools"]}
    inside = [stage for stage in said["stages"] if stage["pool"] == "strix/unified"]

    assert ["strix/unified", "box/gpu0"] == [name for name in pools if not name.endswith("ram")]
    assert {"strix/gpu0", "strix/cpu"} >= {stage["device"] for stage in inside}
    assert sum(stage["load_bytes"] for stage in inside) == pools["strix/unified"]["load_bytes"] <= 20 * GIB
    assert all(stage["load_bytes"] <= 13 * GIB for stage in inside if stage["device"] == "strix/gpu0")


def test_a_group_fills_each_of_its_cards_alike() -> None:
    said = document(GROUPS, Choices(Offload.EXPERTS, 2))
    stage, pools = said["stages"][0], {pool["pool"]: pool for pool in said["pools"]}

    assert ("group", "desk/gpu0-1", ["desk/gpu0", "desk/gpu1"]) == (stage["role"], stage["device"], stage["devices"])
    assert stage["load_bytes"] == pools["desk/gpu0"]["load_bytes"] == pools["desk/gpu1"]["load_bytes"]
    assert 2 == said["check"]["devices_used"]
    assert stage["weight_bytes"] * 2 + stage["offload_bytes"] == said["transfer"][0]["bytes"]


@pytest.mark.parametrize("text", [CARDS, MIXED], ids=["cards", "mixed"])
def test_every_value_that_is_changed_is_found(text: str) -> None:
    """But for which of equal blocks leaves its experts: that is another plan, as good."""
    said = document(text)
    decided = {name: said[name] for name in ("stages", "pools", "check", "transfer", "objective")}
    unseen = [
        path
        for path, value in leaves(decided)
        if "offload_blocks" not in path and not found_in(changed(said, path, other(value)))
    ]

    assert [] == unseen


@pytest.mark.parametrize(
    ("blocks", "place"),
    [
        ([], "stages[0].weight_bytes"),
        ([1, 0], "rule offload"),
        ([31], "rule offload"),
        ([0, 0], "rule offload"),
        ([0, 32], "rule offload"),
        ([2**31], "rule offload"),
    ],
    ids=["none", "out of order", "of another stage", "twice", "behind the last", "far behind the last"],
)
def test_experts_that_stay_elsewhere_are_found(blocks: list[int], place: str) -> None:
    found = places(changed(document(CARDS), ("stages", 0, "offload_blocks"), blocks))

    assert place in found or found[0] in ("rule memory", "rule pools")


def test_a_memory_that_is_smaller_in_the_inputs_is_found() -> None:
    said = document(CARDS)
    pools = said["inputs"]["problem"]["pools"]
    number = next(number for number, pool in enumerate(pools) if pool["name"] == "desk/ram")
    smaller = changed(said, ("inputs", "problem", "pools", number, "budget_bytes"), 2**30)

    assert "rule pools" in places(smaller)


def test_the_report_says_what_stays_with_the_host_in_a_line_a_stage() -> None:
    found = planned(CARDS)
    text = plan_text(found, Paint(enabled=False), timings=False)
    page = plan_html(found, document(CARDS))
    left = [line for line in text.splitlines() if " on host" in line]

    assert len(found.stages) == len(left)
    assert all("experts of " in line and "in desk/ram" in line for line in left)
    assert any(line.startswith("desk/ram ") and " of a budget of 32.00 GiB" in line for line in text.splitlines())
    assert "in desk/ram" in page


def test_the_report_of_a_group_says_what_its_sizes_are_of() -> None:
    text = plan_text(planned(GROUPS, Choices(Offload.EXPERTS, 2)), Paint(enabled=False), timings=False)

    assert "#1  sizes are those of each of its 2 cards" in text


def test_a_plan_that_leaves_nothing_says_nothing_of_it() -> None:
    roomy = planned(replace_memory(CARDS))

    assert " on host" not in plan_text(roomy, Paint(enabled=False), timings=False)
    assert 0 == sum(stage.offload_bytes for stage in roomy.stages)


def replace_memory(text: str) -> str:
    """Return the same machine with cards that hold everything."""
    return text.replace('"8 GiB"', '"48 GiB"').replace('"6 GiB"', '"48 GiB"')


def test_a_request_of_another_context_is_another_plan() -> None:
    """What stays behind grows with the cache."""
    cluster = parse_cluster(CARDS, "m")
    left = []
    for context in (4096, 32768):
        built = generic(mixtral(), cluster, replace(REQUEST, context_tokens=context), NO_RULES)
        left.append(plan(built.problem, "offload", EFFORT).solution.levels[0].value)

    assert left[0] < left[1]


def test_devices_that_hold_nothing_are_called_devices() -> None:
    roomy = plan_text(planned(replace_memory(CARDS), wanted="nodes"), Paint(enabled=False), timings=False)
    other = CARDS + '[[node]]\nname = "spare"\nmemory = "12 GiB"\n'
    beside = plan_text(planned(replace_memory(other), wanted="nodes"), Paint(enabled=False), timings=False)

    assert "unused  1 device with a budget of 48.00 GiB (desk/gpu1)" in roomy.splitlines()
    assert "unused  2 devices with a budget of 58.00 GiB (desk/gpu1, spare)" in beside.splitlines()


def test_devices_of_one_memory_hold_no_more_than_that_together() -> None:
    """The ceiling of the GPU is 20 GiB of the 40 GiB that are all there is."""
    text = plan_text(planned(UNIFIED, wanted="nodes,balance"), Paint(enabled=False), timings=False)
    together = next(line for line in text.splitlines() if " together " in line)

    assert ["63.9", "%", "25.56", "40.00", "14.44"] == together.split()[4:9]


def test_one_more_card_beside_others_is_called_a_device() -> None:
    short = planned(CARDS.replace('"8 GiB"', '"16 GiB"'), Choices(Offload.NONE, 1), "nodes,balance")

    assert (
        "With one more device like desk/gpu1, with a budget of 6.00 GiB (6,442,450,944 bytes), it fits."
        == (short.reasons[-1])
    )


def test_a_plan_that_was_not_found_in_time_stands(validate_document: Callable[[Mapping[str, Any]], None]) -> None:
    """The closed form of machines with cards is another than that of plain ones."""
    cluster = parse_cluster(CARDS, "m")
    built = generic(mixtral(), cluster, REQUEST, NO_RULES, USUAL_CHOICES)
    setting = Setting(mixtral(), cluster, REQUEST, "generic", built.notes, None, None, USUAL_CHOICES)
    found = plan(built.problem, WANTED, replace(EFFORT, time_limit_seconds=1e-9), setting=setting)
    said = document_of(found, WANTED)
    validate_document(said)

    assert "unknown" == said["outcome"]
    assert [] != said["objective"][0]["bounds"]
    assert () == found_in(said)


def test_what_would_make_it_fit_grows_the_memories_that_devices_draw_on() -> None:
    """Experts of 24 GiB and cards of 14: a host of 6 GiB is too small by what is left over."""
    short = planned(CARDS.replace('"34 GiB"', '"8 GiB"'))
    said = next(reason for reason in short.reasons if " more memory for " in reason)

    assert "infeasible" == short.outcome.value
    assert short.reasons[0].startswith(("The budgets together hold ", "Block "))
    assert said.endswith(("for desk/ram it fits.", "for desk/gpu0 it fits.", "for desk/gpu1 it fits."))


def test_a_block_that_no_card_holds_is_named_without_what_may_stay_behind() -> None:
    tiny = planned(CARDS.replace('"8 GiB"', '"1 MiB"').replace('"6 GiB"', '"1 MiB"'))

    assert " without what may stay with a host, more than the largest budget, 1.00 MiB " in tiny.reasons[0]

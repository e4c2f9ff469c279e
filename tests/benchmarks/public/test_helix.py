"""Helix's instances are read as published, and the referee agrees with their own program."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from random import Random
from typing import TYPE_CHECKING

import pytest

from benchmarks.public.folder import PublicDataError
from benchmarks.public.helix import (
    CLUSTERS,
    PUBLISHED,
    HelixInstance,
    HelixLink,
    HelixNode,
    HelixRun,
    ceiling,
    chain_problem,
    layout_of,
    read_instance,
    read_layout,
)
from solver.effort import Effort
from solver.objectives import objectives_named
from solver.solution import Outcome
from solver.solve import solve

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.public.helix import Layout, PublishedLayout

pytest.importorskip("highspy", reason="the referee is HiGHS, of the extra bench")

from benchmarks.public.helix_referee import flow, flow_in_program, optimum_of_program


@pytest.fixture(scope="session")
def helix(data_folder: Path) -> Path:
    """Return the folder of Helix's files."""
    folder = data_folder / "instances" / "helix"
    for part in ("clusters", "lp", "solutions"):
        if not (folder / part).is_dir():
            pytest.skip(f"no public instances at {folder / part}")
    return folder


def tiny(link: int = 1000) -> HelixInstance:
    """Return 4 layers on three nodes of 100, 60 and 50 tokens a second with 2 layers, all joined alike."""
    nodes = tuple(HelixNode("any", (Fraction(2 * rate), Fraction(rate))) for rate in (100, 60, 50))
    ends = (*((None, node) for node in range(3)), *((node, None) for node in range(3)))
    links = (
        *(HelixLink(source, target, Fraction(1000)) for source, target in ends),
        *(HelixLink(source, target, Fraction(link)) for source, target in permutations(range(3), 2)),
    )
    return HelixInstance("tiny", 4, nodes, links)


def test_nodes_that_share_a_run_add_their_rates() -> None:
    """100 tokens a second through node 0; 60 and 50 through the two that hold the rest."""
    assert 100 == flow(tiny(), (HelixRun(0, 0, 2), HelixRun(1, 2, 4), HelixRun(2, 2, 4)))
    assert 60 == flow(tiny(), (HelixRun(0, 0, 2), HelixRun(1, 2, 4)))


def test_every_pair_across_a_seam_is_a_link_of_its_own() -> None:
    """Two links of 40 carry what one cannot."""
    assert 80 == flow(tiny(link=40), (HelixRun(0, 0, 2), HelixRun(1, 2, 4), HelixRun(2, 2, 4)))
    assert 40 == flow(tiny(link=40), (HelixRun(0, 0, 2), HelixRun(1, 2, 4)))


def test_a_layer_that_nobody_holds_stops_all() -> None:
    """Nor does a run begin within another's: there is no partial inference."""
    assert 0 == flow(tiny(), ())
    assert 0 == flow(tiny(), (HelixRun(0, 0, 2), HelixRun(1, 3, 4)))
    assert 0 == flow(tiny(), (HelixRun(0, 0, 2), HelixRun(1, 1, 3), HelixRun(2, 3, 4)))


def test_the_ceiling_is_the_best_work_of_every_node_over_the_layers() -> None:
    """(2 * 100 + 2 * 60 + 2 * 50) / 4."""
    assert 105 == ceiling(tiny())


@pytest.mark.parametrize(
    ("layout", "problem"),
    [
        ((HelixRun(3, 0, 2),), "HelixRun(node=3, start=0, end=2): expected one run for each of the nodes 0 to 2."),
        (
            (HelixRun(0, 0, 2), HelixRun(0, 2, 4)),
            "HelixRun(node=0, start=2, end=4): expected one run for each of the nodes 0 to 2.",
        ),
        ((HelixRun(0, 3, 5),), "HelixRun(node=0, start=3, end=5): expected some of layers 0 to 3."),
        ((HelixRun(0, 2, 2),), "HelixRun(node=0, start=2, end=2): expected some of layers 0 to 3."),
        ((HelixRun(0, 0, 3),), "HelixRun(node=0, start=0, end=3): expected at most 2 layers."),
    ],
)
def test_what_is_no_layout_is_refused(layout: Layout, problem: str) -> None:
    """The message shows the run."""
    with pytest.raises(PublicDataError) as caught:
        flow(tiny(), layout)

    assert problem == str(caught.value)


@pytest.mark.parametrize("entry", PUBLISHED, ids=lambda entry: entry.solution)
def test_a_published_layout_carries_what_its_authors_say(helix: Path, entry: PublishedLayout) -> None:
    """By their own program, and by the flow that is built here."""
    layout = read_layout(helix / "solutions" / f"{entry.solution}.ini")
    program = flow_in_program(helix, entry.instance, layout)

    assert program == pytest.approx(flow(read_instance(helix, entry.instance), layout), rel=1e-6)
    if entry.tokens_per_second is not None:
        assert program == pytest.approx(entry.tokens_per_second, rel=1e-6)


@pytest.mark.parametrize("name", ["cluster10_llama30b_quality", "single_a100_llama30b", "3cluster24_llama70b_noprune"])
def test_flow_and_program_agree_on_layouts_drawn_at_random(helix: Path, name: str) -> None:
    """Replicas, nodes left out and shares of a run that nobody else meets."""
    instance = read_instance(helix, name)
    carried = 0
    for seed in range(12):
        layout = drawn(instance, Random(seed))
        own = flow(instance, layout)
        carried += own > 0

        assert own == pytest.approx(flow_in_program(helix, name, layout), rel=1e-6, abs=1e-6)
    assert carried


def drawn(instance: HelixInstance, random: Random) -> Layout:
    """Return nodes in any order, in turn beginning a run or repeating the last where it fits."""
    runs: list[HelixRun] = []
    at = 0
    for node in random.sample(range(len(instance.nodes)), len(instance.nodes)):
        most = instance.nodes[node].max_layers
        if runs and random.random() < 0.3 and runs[-1].end - runs[-1].start <= most:
            runs.append(HelixRun(node, runs[-1].start, runs[-1].end))
        elif at < instance.layers:
            end = min(at + random.randint(max(most - 1, 1), most), instance.layers)
            runs.append(HelixRun(node, at, end))
            at = end
    return tuple(runs)


def test_every_stored_program_is_read(helix: Path) -> None:
    """Layers, nodes and directed links, those of the coordinator counted."""
    read = {name: read_instance(helix, name) for name in CLUSTERS}

    assert {
        "cluster10_llama30b_quality": (60, 10, 110),
        "cluster24_llama70b": (80, 24, 600),
        "cluster42_llama70b_noprune": (80, 42, 1806),
        "cluster42_llama70b_pruned": (80, 42, 876),
        "3cluster24_llama70b_noprune": (80, 24, 600),
        "3cluster24_llama70b_pruned": (80, 24, 350),
        "single_a100_llama30b": (60, 4, 20),
        "single_l4_llama30b": (60, 8, 72),
        "single_t4_llama30b": (60, 12, 156),
    } == {name: (one.layers, len(one.nodes), len(one.links)) for name, one in read.items()}


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Without its path, which may say more than it should."""
    with pytest.raises(PublicDataError) as caught:
        read_instance(tmp_path, "cluster24_llama70b")

    assert "cluster24_llama70b.lp: no such file or directory. docs/benchmarks.md names the folder of data." == str(
        caught.value
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cluster10_llama30b_quality", 286.587),
        ("cluster24_llama70b", 2045.641),
        ("cluster42_llama70b_noprune", 5441.144),
        ("single_a100_llama30b", 1044.533),
        ("single_l4_llama30b", 252.650),
        ("single_t4_llama30b", 397.685),
    ],
)
def test_the_best_chain_is_proved_and_carries_what_the_solver_says(helix: Path, name: str, expected: float) -> None:
    """Where links are alike; the referee is their own program."""
    problem = chain_problem(read_instance(helix, name))
    found = solve(problem, objectives_named("throughput"), Effort(60, None, workers=1, seed=0))

    assert Outcome.OPTIMAL == found.outcome
    assert found.placement is not None
    assert expected == pytest.approx(flow_in_program(helix, name, layout_of(found.placement)), abs=1e-3)
    assert expected == pytest.approx(float(found.levels[-1].value), rel=1e-5)


def test_the_single_type_t4_chain_meets_the_ceiling_of_all_layouts(helix: Path) -> None:
    """So that no layout, replicas included, carries more."""
    instance = read_instance(helix, "single_t4_llama30b")
    found = solve(chain_problem(instance), objectives_named("throughput"), Effort(60, None, workers=1, seed=0))

    assert found.placement is not None
    assert float(ceiling(instance)) == pytest.approx(flow(instance, layout_of(found.placement)), rel=1e-9)


def test_no_layout_carries_more_than_the_best_chain_of_four_a100(helix: Path) -> None:
    """HiGHS proves it in their whole program, replicas included."""
    assert 1044.5333 == pytest.approx(optimum_of_program(helix, "single_a100_llama30b"), abs=1e-3)


def test_a_program_without_some_links_is_no_question_for_one_chain(helix: Path) -> None:
    """Since the coordinator's missing links could not be said."""
    with pytest.raises(PublicDataError) as caught:
        chain_problem(read_instance(helix, "3cluster24_llama70b_pruned"))

    assert "3cluster24_llama70b_pruned: 326 links between nodes; expected one for every pair." == str(caught.value)

"""Options of the solver: more of the pool never takes one away, each passes the audit, and simple ones are judged."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.offers import offer

if TYPE_CHECKING:
    from solver.options.models import Offered

from solver.cluster import Cluster, ClusterLink, ClusterNode, GpuGroup, Reserve
from solver.effort import Effort
from solver.engines.llamacpp.problem import llamacpp
from solver.engines.servers.ranks import served_figures
from solver.engines.vllm import PROFILE, vllm
from solver.measures import stage_load
from solver.options import DEFAULT_POLICY, Option, Verdict, rank
from solver.options.exact import Engines, ExactAnswer, exact_options
from solver.options.machines import pool_of_cluster
from solver.options.ranking import rank_key
from solver.options.simple import simple_options
from solver.problem import Placement, Rules, Stage
from solver.rules import violations

GB = 10**9
NO_RULES = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)
# What engines say of a model depends on no pool.
ENGINES = Engines(Effort(time_limit_seconds=60, deterministic_limit=None, workers=1, seed=0))


def node(
    name: str,
    cards: tuple[tuple[str, int, int, int | None], ...] = (),
    *,
    host_gb: int = 64,
    fabric: str | None = None,
    free_gb: int | None = None,
    unified: bool = False,
) -> ClusterNode:
    """Return a machine with (class, GB, count, free) cards; of every memory a tenth is in reserve."""
    reserve = Reserve(Fraction(1, 10), 0)
    return ClusterNode(
        name=name,
        memory_bytes=host_gb * GB,
        unified=unified,
        ceiling_bytes=None,
        reserve=reserve,
        bytes_per_second=None,
        fabric=fabric,
        cpu=False,
        free_bytes=None if free_gb is None else free_gb * GB,
        gpus=tuple(GpuGroup(label, size * GB, count, free, None, None, reserve) for label, size, count, free in cards),
        address=None,
        rpc_port=None,
        head=False,
        model_path=None,
    )


def cluster(*nodes: ClusterNode, links: tuple[ClusterLink, ...] = ()) -> Cluster:
    return Cluster(nodes, latency_ns=0, bytes_per_second=None, links=links)


def ask(offers: list[Offered], machines: Cluster) -> ExactAnswer:
    simple = simple_options([one.artifact for one in offers], pool_of_cluster(machines), 8192, DEFAULT_POLICY)
    return exact_options(offers, machines, simple, ENGINES)


def labels(answer: ExactAnswer) -> list[str]:
    return [option.place.label for option in rank(answer.exact)]


def test_a_model_goes_on_the_fewest_equal_cards_and_on_each_number_of_nodes_that_needs_fewer_in_each() -> None:
    """The 70B model needs 3 cards of 24 GB: one node of 3, two nodes of 2, three nodes of 1."""
    machines = cluster(*(node(f"n{number}", (("l4-24g", 24, 4, 4),)) for number in range(3)))

    assert ["3 × l4-24g", "3 nodes × 1 l4-24g", "2 nodes × 2 l4-24g", "CPU"] == labels(
        ask([offer("llama-3.1-70b")], machines)
    )


def test_stages_cover_the_blocks_and_the_fullest_card_is_that_of_the_option() -> None:
    machines = cluster(node("a", (("l4-24g", 24, 4, 4),)))
    option = next(one for one in ask([offer("llama-3.1-70b")], machines).exact if not one.place.cpu)

    assert [("a/gpu0", 0), ("a/gpu1", 27), ("a/gpu2", 55)] == [(stage.device, stage.start) for stage in option.stages]
    assert 80 == option.stages[-1].end
    assert option.need_bytes == max(stage.need_bytes for stage in option.stages)
    assert 21_600_000_000 == option.have_bytes
    assert "exact search" == option.proof
    assert option.longest_context is not None
    assert option.longest_context >= 8192


def test_unlike_cards_of_one_node_and_of_several_hold_what_neither_kind_holds() -> None:
    inside = cluster(node("a", (("big-40g", 40, 1, 1), ("small-24g", 24, 1, 1))))
    apart = cluster(node("a", (("big-40g", 40, 1, 1),)), node("b", (("small-24g", 24, 1, 0),)))

    assert ["1 × big-40g + 1 × small-24g", "CPU"] == labels(ask([offer("llama-3.1-70b")], inside))
    found = ask([offer("llama-3.1-70b")], apart)
    assert ["2 nodes: 1 × big-40g + 1 × small-24g", "CPU"] == labels(found)
    mix = rank(found.exact)[0]
    assert (None, 2, 2, False) == (mix.place.gpus_per_node, mix.place.nodes, mix.place.cards, mix.free_now)


def test_hosts_together_hold_what_none_holds_alone() -> None:
    machines = cluster(node("a", host_gb=32), node("b", host_gb=32), node("c", host_gb=40, unified=True))

    assert [
        "2 nodes × CPU of 32 GB",
        "2 nodes: 1 × unified-40g + 1 × CPU of 32 GB",
    ] == labels(ask([offer("llama-3.1-70b")], machines))


def test_vllm_takes_any_number_of_nodes_of_one_fabric() -> None:
    """87 GiB on cards of 40 GB: three ranks of one card do, which is no power of two."""
    machines = cluster(*(node(f"n{number}", (("a100-40g", 40, 1, 1),), fabric="ib0") for number in range(3)))

    assert ["3 nodes × 1 a100-40g on ib0"] == labels(ask([offer("mixtral-8x7b")], machines))
    apart = cluster(*(node(f"n{number}", (("a100-40g", 40, 1, 1),), fabric=f"ib{number}") for number in range(3)))
    assert [] == labels(ask([offer("mixtral-8x7b")], apart))


def test_ranks_of_a_node_share_blocks_or_follow_each_other() -> None:
    found = ask([offer("mixtral-8x7b")], cluster(node("a", (("a100-80g", 80, 2, 2),))))
    option = found.exact[0]

    assert "2 × a100-80g" == option.place.label
    assert ["a/gpu0–1"] == [stage.device for stage in option.stages]


def test_a_simple_option_that_the_solver_refutes_is_kept_and_marked() -> None:
    """Both keep a tenth of a card, but the engine has a longer context and bytes of its own to hold."""
    one = offer("mixtral-8x7b", 131_072)
    machines = cluster(node("a", (("x-60g", 60, 2, 2),)))
    simple = simple_options([one.artifact], pool_of_cluster(machines), 8192, DEFAULT_POLICY)
    answer = exact_options([one], machines, simple, ENGINES)

    assert ["2 × x-60g"] == [option.place.label for option in simple]
    assert [(True, Verdict.REFUTED)] == [(option.refuted, option.verdict) for option in answer.simple]
    assert () == answer.exact


def test_a_simple_option_that_holds_is_said_to_fit_where_fewer_cards_do_too() -> None:
    """48.9 GB by arithmetic are 45.8 by the engine: one card of 52 GB does, where arithmetic takes two."""
    answer = ask([offer("llama-3.1-70b")], cluster(node("a", (("x-52g", 52, 2, 2),))))

    assert [("2 × x-52g", Verdict.FITS)] == [
        (option.place.label, option.verdict) for option in answer.simple if not option.place.cpu
    ]
    assert "1 × x-52g" in labels(answer)


def test_an_artifact_without_headers_is_passed_over_with_a_note() -> None:
    named = replace(offer("llama-3.1-70b"), inventory=None)
    answer = ask([named], cluster(node("a", (("x-80g", 80, 1, 1),))))

    assert () == answer.exact
    assert {Verdict.NOT_ASKED} == {option.verdict for option in answer.simple}
    assert (f"{named.artifact.name}: the solver was not asked, since no header says its blocks.",) == answer.notes


def test_nodes_that_a_barred_link_parts_take_nothing_together() -> None:
    nodes = [node(f"n{number}", (("l4-24g", 24, 1, 1),)) for number in range(4)]
    barred = tuple(
        ClusterLink(f"n{one}", f"n{two}", latency_ns=0, bytes_per_second=None, forbidden=True)
        for one, two in ((0, 1), (2, 3))
    )

    assert "3 nodes × 1 l4-24g" in labels(ask([offer("llama-3.1-70b")], cluster(*nodes)))
    assert "3 nodes × 1 l4-24g" not in labels(ask([offer("llama-3.1-70b")], cluster(*nodes, links=barred)))
    assert "3 nodes × 1 l4-24g" in labels(ask([offer("llama-3.1-70b")], cluster(*nodes, links=barred[:1])))


def test_the_machine_that_llamacpp_is_started_on_needs_room_beside_its_cards() -> None:
    cards = (("l4-24g", 24, 4, 4),)

    assert [] == labels(ask([offer("llama-3.1-70b")], cluster(node("a", cards, host_gb=0))))
    assert ["3 × l4-24g"] == labels(ask([offer("llama-3.1-70b")], cluster(node("a", cards, host_gb=8))))


def test_free_now_is_what_the_cluster_says() -> None:
    def free(*counts: int | None) -> bool | None:
        nodes = (node(f"n{number}", (("l4-24g", 24, 3, count),)) for number, count in enumerate(counts))
        answer = ask([offer("llama-3.1-70b")], cluster(*nodes))
        return next(option.free_now for option in answer.exact if option.place.label == "3 × l4-24g")

    assert free(3, 0) is True
    assert free(2, 1) is False
    assert free(2, None) is None


# -- properties ------------------------------------------------------------------------------------------------------

CARD_CLASSES = (("l4-24g", 24), ("a16-16g", 16), ("a40-48g", 48))


@st.composite
def machines_drawn(draw: st.DrawFn, name: str) -> ClusterNode:
    """Return a machine with up to two groups of cards, a host, or a unified memory."""
    kind = draw(st.sampled_from(["cards", "cards", "host", "unified"]))
    host = draw(st.sampled_from([8, 24, 48, 96]))
    if kind == "unified":
        return node(name, host_gb=max(host, 24), unified=True, fabric=draw(st.sampled_from([None, "ib0"])))
    groups = (
        draw(st.lists(st.sampled_from(CARD_CLASSES), min_size=1, max_size=2, unique=True)) if kind == "cards" else []
    )
    cards = []
    for label, size in groups:
        count = draw(st.integers(1, 3))
        cards.append((label, size, count, draw(st.none() | st.integers(0, count))))
    return node(
        name,
        tuple(cards),
        host_gb=host,
        fabric=draw(st.sampled_from([None, "ib0"])),
        free_gb=draw(st.sampled_from([None, host])),
    )


@st.composite
def clusters_drawn(draw: st.DrawFn) -> Cluster:
    return cluster(*(draw(machines_drawn(f"n{number}")) for number in range(draw(st.integers(1, 4)))))


OFFERS = [offer("llama-3.1-70b"), offer("mixtral-8x7b")]
SLOW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def is_kept(option: Option, after: tuple[Option, ...]) -> bool:
    """Return whether the same place is there still, or for unlike memories a mix that ranks no worse."""
    alike = [other for other in after if (other.order, other.engine) == (option.order, option.engine)]
    if option.place.gpus_per_node is not None:
        return any(other.place.label == option.place.label for other in alike)
    return any(other.place.gpus_per_node is None and rank_key(other)[:3] <= rank_key(option)[:3] for other in alike)


@given(clusters_drawn(), machines_drawn("new"), st.integers(0, 4))
@SLOW
def test_a_node_more_removes_no_option_and_makes_the_best_no_worse(before: Cluster, new: ClusterNode, at: int) -> None:
    few = ask(OFFERS, before).exact
    many = ask(OFFERS, replace(before, nodes=(*before.nodes[:at], new, *before.nodes[at:]))).exact

    assert [] == [option for option in few if not is_kept(option, many)]
    if few:
        assert rank_key(rank(many)[0]) <= rank_key(rank(few)[0])


@given(clusters_drawn(), st.data())
@SLOW
def test_a_card_freed_removes_no_option_and_makes_the_best_no_worse(before: Cluster, data: st.DataObject) -> None:
    nodes = list(before.nodes)
    number = data.draw(st.integers(0, len(nodes) - 1))
    freed = tuple(
        replace(group, free_count=None if group.free_count is None else min(group.free_count + 1, group.count))
        for group in nodes[number].gpus
    )
    nodes[number] = replace(nodes[number], gpus=freed)
    few, many = ask(OFFERS, before).exact, ask(OFFERS, replace(before, nodes=tuple(nodes))).exact

    assert {(one.order, one.place.label) for one in few} == {(one.order, one.place.label) for one in many}
    if few:
        assert rank_key(rank(many)[0]) <= rank_key(rank(few)[0])


def of_place(option: Option, machines: Cluster) -> Cluster:
    """Return the cluster of an option's machines alone, each with no more cards of a class than the option takes."""
    taken: dict[str, list[str]] = {}
    for stage in option.stages:
        taken.setdefault(stage.node, []).append(stage.device)
    return replace(machines, nodes=tuple(one for one in machines.nodes if one.name in taken))


@given(clusters_drawn())
@SLOW
def test_every_exact_option_of_llamacpp_passes_the_audit_of_its_engine(machines: Cluster) -> None:
    """The cut is laid into the engine's own problem for the machines of the option, and no rule is broken."""
    offered = OFFERS[0]
    assert offered.inventory is not None
    assert offered.workload is not None
    for option in ask([offered], machines).exact:
        place = of_place(option, machines)
        if option.place.cpu:
            hosts = {stage.node for stage in option.stages if stage.device.endswith("/cpu")}
            place = replace(
                place, nodes=tuple(replace(m, gpus=(), unified=False) if m.name in hosts else m for m in place.nodes)
            )
        problem = llamacpp(offered.inventory, place, offered.workload, NO_RULES).problem
        names = {name.name for name in problem.nodes}
        stages = tuple(
            Stage(stage.start, stage.end, stage.device if stage.device in names else stage.node)
            for stage in option.stages
        )

        assert () == violations(problem, Placement(stages))
        for stage, shown in zip(stages, option.stages, strict=True):
            load = stage_load(problem, stage)
            assert shown.have_bytes - shown.need_bytes <= load.budget_bytes - load.load_bytes


@given(clusters_drawn())
@SLOW
def test_every_exact_option_of_vllm_passes_the_audit_of_its_engine(machines: Cluster) -> None:
    one = OFFERS[1]
    assert one.inventory is not None
    assert one.workload is not None
    for option in ask([one], machines).exact:
        width = len(range(*_cards(option.stages[0].device)))
        place = _only_class(of_place(option, machines), option.place.gpu_class)
        served = vllm(one.inventory, place, one.workload, NO_RULES, PROFILE.settings(width))
        names = {device.cards[0]: device.name for device in served.devices}
        stages = tuple(Stage(stage.start, stage.end, names[_first(stage.device)]) for stage in option.stages)

        assert () == violations(served.problem, Placement(stages))
        assert served_figures(served, Placement(stages)).fits


def _cards(device: str) -> tuple[int, int]:
    numbers = device.rpartition("/gpu")[2] if "/gpu" in device else "0"
    first, _, last = numbers.partition("–")
    return int(first), int(last or first) + 1


def _first(device: str) -> str:
    return device.partition("–")[0]


def _only_class(machines: Cluster, label: str) -> Cluster:
    """Return machines whose other cards are in reserve as a whole, so that cards keep their numbers."""
    return replace(
        machines,
        nodes=tuple(
            replace(
                one,
                gpus=tuple(
                    group
                    if one.unified or group.label == label
                    else replace(group, reserve=Reserve(Fraction(0), group.memory_bytes))
                    for group in one.gpus
                ),
            )
            for one in machines.nodes
        ),
    )

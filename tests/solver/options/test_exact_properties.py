"""More of the pool takes no option away, and each passes the audit of its engine."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.offers import ask, cluster, node, offer

from solver.cluster import Cluster, ClusterNode, Reserve
from solver.engines.llamacpp.problem import llamacpp
from solver.engines.servers.ranks import served_figures
from solver.engines.vllm import PROFILE, vllm
from solver.measures import stage_load
from solver.options import Option, rank
from solver.options.ranking import rank_key
from solver.problem import Placement, Rules, Stage
from solver.rules import violations

NO_RULES = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)


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


# The most room would be left with the small host between cards of one machine, which follow one another.
SMALL_HOST_BESIDE_CARDS = cluster(node("n0", (("a16-16g", 16, 3, None),), host_gb=8), node("n1", (), host_gb=8))


@given(clusters_drawn())
@example(SMALL_HOST_BESIDE_CARDS)
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
            Stage(
                stage.start,
                # The head is one more, behind the last block.
                stage.end + (stage is option.stages[-1]),
                stage.device if stage.device in names else stage.node,
            )
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

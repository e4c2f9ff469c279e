"""Options of the solver: more of the pool never takes one away, each passes the audit, and simple ones are judged."""

from __future__ import annotations

from dataclasses import replace

from support.offers import ENGINES, ask, cluster, node, offer

from solver.cluster import ClusterLink
from solver.options import DEFAULT_POLICY, Verdict, rank
from solver.options.exact import ExactAnswer, exact_options
from solver.options.machines import pool_of_cluster
from solver.options.simple import simple_options


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
    """Each host counts as a card there, so that what leaves more room is first."""
    machines = cluster(node("a", host_gb=32), node("b", host_gb=32), node("c", host_gb=40, unified=True))

    assert [
        "2 nodes: 1 × unified-40g + 1 × CPU of 32 GB",
        "2 nodes × CPU of 32 GB",
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
    assert ["its blocks take 110.588 GB; 1 device may take 102.889 GB of them"] == [
        option.note for option in answer.simple
    ]
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

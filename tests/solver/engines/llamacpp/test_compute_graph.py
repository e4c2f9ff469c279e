"""The graph, its schedule and its allocation, each alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from solver.engines.llamacpp.compute_allocate import Peak, Share, buffer_peaks
from solver.engines.llamacpp.compute_graph import F32, HOST_PLACE, Graph
from solver.engines.llamacpp.compute_schedule import schedule

if TYPE_CHECKING:
    from solver.engines.llamacpp.compute_graph import Node

CARD = 0
ROW = 256


def peaks(graph: Graph, copies: int = 1, alignment: int = 32) -> dict[int, Peak]:
    return buffer_peaks(schedule(graph, copies), {CARD: alignment, 1: alignment, HOST_PLACE: alignment})


def chain(graph: Graph, source: Node, *places: int) -> Node:
    """Return a source multiplied by a weight on each of these places in turn."""
    for place in places:
        source = graph.product(graph.weight(place, ROW * ROW * F32, ROW, ROW), source)
    return source


def test_nodes_are_recorded_sources_first_and_once() -> None:
    graph = Graph()
    first = graph.input(F32, ROW)
    shared = graph.like("unary", first)
    last = graph.like("add", graph.like("scale", shared), shared)
    graph.run(shared)
    graph.run(last)

    assert ["unary", "scale", "add"] == [node.operation for node in graph.nodes]
    assert [first] == graph.leaves


def test_a_view_takes_no_memory_and_keeps_what_it_looks_at() -> None:
    graph = Graph()
    look = graph.view(chain(graph, graph.input(F32, ROW, 8), CARD), ROW * 8)
    graph.run(look)
    graph.run(chain(graph, graph.input(F32, ROW, 8), CARD))
    graph.run(graph.dense(look))

    # What it keeps stands beside the copied input and the product of the second chain.
    assert 3 * ROW * 8 * F32 == peaks(graph)[CARD].size_bytes


def test_a_result_takes_the_place_of_a_source_that_nobody_else_reads() -> None:
    sizes = []
    for again in (False, True):
        graph = Graph()
        made = chain(graph, graph.input(F32, ROW, 8), CARD)
        result = graph.like("scale", made)
        graph.run(graph.like("concat", result, made) if again else result)
        sizes.append(peaks(graph)[CARD].size_bytes)

    assert 2 * ROW * 8 * F32 == sizes[0] < sizes[1]


def test_results_that_are_kept_are_never_given_up() -> None:
    graph = Graph()
    source = graph.input(F32, ROW, 8)
    for _ in range(3):
        source = chain(graph, source, CARD)
        source.is_output = True
    graph.run(source)

    assert 3 * ROW * 8 * F32 == peaks(graph)[CARD].live_bytes[Share.RESULTS]


def test_nodes_run_where_their_weights_are_and_what_they_read_is_copied_there() -> None:
    graph = Graph()
    result = chain(graph, graph.input(F32, ROW, 8), CARD, 1, HOST_PLACE)
    graph.run(result)
    steps = [(node.operation, place) for node, _, place in schedule(graph, 1).steps]

    assert [
        ("keep", HOST_PLACE),
        ("copy", CARD),
        ("mul_mat", CARD),
        ("keep", CARD),
        ("copy", 1),
        ("mul_mat", 1),
        ("keep", 1),
        ("copy", HOST_PLACE),
        ("mul_mat", HOST_PLACE),
    ] == steps


def test_nodes_without_weights_join_a_device_rather_than_the_host() -> None:
    graph = Graph()
    first = chain(graph, graph.input(F32, ROW, 8), HOST_PLACE)
    result = chain(graph, graph.like("rms_norm", first), CARD)
    graph.run(result)
    places = {node.operation: place for node, _, place in schedule(graph, 1).steps}

    assert CARD == places["rms_norm"]


def test_every_input_and_copy_is_kept_as_often_as_pipelines_need() -> None:
    graph = Graph()
    graph.run(chain(graph, graph.input(F32, ROW, 8), CARD, 1))
    size = ROW * 8 * F32
    found = peaks(graph, copies=4)

    assert [4 * size, 5 * size, 5 * size] == [found[place].size_bytes for place in (HOST_PLACE, CARD, 1)]


@given(st.integers(1, 5), st.integers(1, 4), st.sampled_from([32, 128, 256]))
def test_shares_of_a_buffer_add_up_to_it_and_are_rounded_up_to_the_alignment(
    length: int, copies: int, alignment: int
) -> None:
    graph = Graph()
    graph.run(chain(graph, graph.input(F32, ROW, 3), *[CARD, 1] * length))
    for peak in peaks(graph, copies, alignment).values():
        assert 0 == peak.size_bytes % alignment
        assert peak.size_bytes == sum(peak.shares.values())
        assert all(share >= 0 for share in peak.shares.values())


@given(st.integers(1, 30))
def test_a_longer_chain_of_equal_blocks_takes_no_more(length: int) -> None:
    def size(blocks: int) -> int:
        graph = Graph()
        graph.run(chain(graph, graph.input(F32, ROW, 8), *[CARD] * blocks))
        return peaks(graph)[CARD].size_bytes

    assert size(2) >= size(length + 1)

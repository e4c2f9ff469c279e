"""The document of a cluster: the same cluster comes back, and nothing else is read."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solver.cluster import Cluster, ClusterLink, ClusterNode, GpuGroup, Reserve
from solver.cluster_document import cluster_document, cluster_from_document
from solver.errors import InputError
from solver.example import example_cluster

AMOUNTS = st.integers(0, 2**50)
MAYBE_AMOUNTS = st.none() | AMOUNTS
MAYBE_TEXTS = st.none() | st.text(max_size=5)
RESERVES = st.builds(Reserve, fraction=st.fractions(0, Fraction(99, 100), max_denominator=1000), floor_bytes=AMOUNTS)
GROUPS = st.builds(
    GpuGroup,
    label=st.text(max_size=5),
    memory_bytes=AMOUNTS,
    count=st.integers(1, 9),
    free_count=st.none() | st.integers(0, 9),
    bytes_per_second=MAYBE_AMOUNTS,
    device=MAYBE_TEXTS,
    reserve=RESERVES,
)
NODES = st.builds(
    ClusterNode,
    name=st.text(min_size=1, max_size=5),
    memory_bytes=st.integers(1, 2**50),
    unified=st.booleans(),
    ceiling_bytes=MAYBE_AMOUNTS,
    reserve=RESERVES,
    bytes_per_second=MAYBE_AMOUNTS,
    fabric=MAYBE_TEXTS,
    cpu=st.booleans(),
    free_bytes=MAYBE_AMOUNTS,
    gpus=st.lists(GROUPS, max_size=2).map(tuple),
    address=MAYBE_TEXTS,
    rpc_port=st.none() | st.integers(1, 65535),
    head=st.booleans(),
    model_path=MAYBE_TEXTS,
)
LINKS = st.builds(
    ClusterLink,
    source=st.text(max_size=5),
    target=st.text(max_size=5),
    latency_ns=AMOUNTS,
    bytes_per_second=MAYBE_AMOUNTS,
    forbidden=st.booleans(),
)
CLUSTERS = st.builds(
    Cluster,
    nodes=st.lists(NODES, min_size=1, max_size=3, unique_by=lambda node: node.name).map(tuple),
    latency_ns=AMOUNTS,
    bytes_per_second=MAYBE_AMOUNTS,
    links=st.lists(LINKS, max_size=2).map(tuple),
)


@given(cluster=CLUSTERS)
def test_a_cluster_comes_back_from_its_document(cluster: Cluster) -> None:
    """Also after the document was JSON text."""
    document = json.loads(json.dumps(cluster_document(cluster)))

    assert cluster == cluster_from_document(document, "plan.json, inputs.cluster")


def test_the_document_writes_shares_as_exact_ratios() -> None:
    """A float would not be the share that was meant."""
    document = cluster_document(example_cluster())

    assert {"fraction": "1/5", "floor_bytes": 8 * 2**30} == document["nodes"][0]["reserve"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"latency_ns": -1}, "a key or a value does not do"),
        ({"speed": 3}, "a key or a value does not do"),
        ({"nodes": []}, "a key or a value does not do"),
        ({"latency_ns": "1 ms"}, "expected `int`, got `str` at latency_ns"),
        ({"links": None}, "expected `array`, got `null` at links"),
    ],
)
def test_a_document_that_nobody_wrote_so_is_refused(change: dict[str, object], problem: str) -> None:
    """Unknown keys, values of another kind and numbers below 0."""
    document = {**cluster_document(example_cluster()), **change}
    with pytest.raises(InputError) as caught:
        cluster_from_document(document, "plan.json, inputs.cluster")

    assert f"plan.json, inputs.cluster: {problem}; expected a normalised cluster. Plan again." == str(caught.value)


@pytest.mark.parametrize("share", ["1/0", "0.2", "1/5/7", "", "9" * 40, "-1/5", "1e999999999", 0.2])
def test_a_share_that_is_no_ratio_is_refused(share: object) -> None:
    document = cluster_document(example_cluster())
    document["nodes"][0]["reserve"]["fraction"] = share
    with pytest.raises(InputError) as caught:
        cluster_from_document(document, "plan.json, inputs.cluster")

    problem = "expected a ratio such as 1/5 at nodes[0].reserve.fraction"
    expected = f"plan.json, inputs.cluster: {problem}; expected a normalised cluster. Plan again."
    assert expected == str(caught.value)


def test_a_name_twice_is_refused() -> None:
    document = cluster_document(example_cluster())
    document["nodes"].append(document["nodes"][0])
    with pytest.raises(InputError) as caught:
        cluster_from_document(document, "plan.json, inputs.cluster")

    assert str(caught.value).startswith("plan.json, inputs.cluster: a key or a value does not do; ")

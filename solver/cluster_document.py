"""A cluster as the document that a plan keeps of it: every name written out, bytes and nanoseconds as integers."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import msgspec

from solver.cluster import Cluster
from solver.errors import InputError
from tensors.text import decoder_problem

__all__ = ["cluster_document", "cluster_from_document"]

# Digits are bounded, so that no number of a document takes long to read.
_RATIO = re.compile(r"(?P<over>[0-9]{1,20})(?:/(?P<under>[1-9][0-9]{0,19}))?", re.ASCII)


def cluster_document(cluster: Cluster) -> dict[str, Any]:
    """Return the document of a cluster; shares are written as exact ratios such as "1/5"."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(cluster, enc_hook=_written))
    for node in document["nodes"]:
        if node["inside"] is None:
            del node["inside"]
    return document


def cluster_from_document(document: object, where: str) -> Cluster:
    """Return the cluster that a document describes; `where` names the document in errors.

    Raises:
        InputError: the document is not one that `cluster_document` writes.
    """
    try:
        cluster = msgspec.convert(document, Cluster, dec_hook=_read)
    except msgspec.ValidationError as error:
        raise InputError(where, f"{decoder_problem(error)}; expected a normalised cluster. Plan again.") from None
    # Keys that a dataclass does not have would be passed over in silence.
    if cluster_document(cluster) != document or not _is_sound(cluster):
        raise InputError(where, "a key or a value does not do; expected a normalised cluster. Plan again.")
    return cluster


def _written(value: object) -> str:
    if isinstance(value, Fraction):
        return str(value)
    raise NotImplementedError(type(value).__name__)


def _read(kind: type, value: object) -> Fraction:
    match = _RATIO.fullmatch(value) if isinstance(value, str) else None
    if kind is not Fraction or match is None:
        raise ValueError("Expected a ratio such as 1/5")
    return Fraction(int(match["over"]), int(match["under"] or 1))


def _is_sound(cluster: Cluster) -> bool:
    """Return whether names are distinct, memories above 0, and no other number below it."""
    names = [node.name for node in cluster.nodes]
    amounts = [cluster.latency_ns, cluster.bytes_per_second]
    for node in cluster.nodes:
        amounts += [node.memory_bytes - 1, node.ceiling_bytes, node.reserve.floor_bytes, node.bytes_per_second]
        if node.inside is not None:
            amounts += [node.inside.latency_ns, node.inside.bytes_per_second]
        for group in node.gpus:
            amounts += [group.memory_bytes, group.count - 1, group.reserve.floor_bytes, group.bytes_per_second]
    for link in cluster.links:
        amounts += [link.latency_ns, link.bytes_per_second]
    return bool(names) and len(set(names)) == len(names) and all(amount is None or amount >= 0 for amount in amounts)

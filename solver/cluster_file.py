"""The cluster file: TOML text to a Cluster, or one line that says which field cannot be meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from solver.cluster_build import build_cluster
from solver.cluster_schema import TABLES, ClusterTable
from solver.toml_tables import TomlKind, read_toml_text, toml_tables

if TYPE_CHECKING:
    from pathlib import Path

    from solver.cluster import Cluster

__all__ = ["CLUSTER_FILE", "parse_cluster", "read_cluster"]

CLUSTER_FILE: Final = TomlKind(
    name="a cluster file",
    list_name="node",
    tables=TABLES,
    examples={"name": '"desk"', "memory": '"64 GiB"', "class": '"rtx-4090-24g"', "from": '"desk"', "to": '"strix"'},
)


def read_cluster(path: Path) -> Cluster:
    """Return the cluster that a file describes.

    Raises:
        InputError: the file cannot be read, is not TOML in UTF-8, or a field cannot be meant; names the field.
    """
    return parse_cluster(read_toml_text(path, CLUSTER_FILE), str(path))


def parse_cluster(text: str, where: str) -> Cluster:
    """Return the cluster that TOML text describes; `where` names its origin in errors.

    Raises:
        InputError: the text is not TOML, or a field cannot be meant; names the field.
    """
    return build_cluster(toml_tables(text, where, CLUSTER_FILE, ClusterTable), where)

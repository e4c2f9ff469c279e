"""What datasheets say: the built-in table, and tables that people put before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solver.cluster_file import parse_cluster
from solver.errors import InputError
from solver.machine.card import Card, Vendor
from solver.machine.table import built_in_table, read_card_table

if TYPE_CHECKING:
    from pathlib import Path

GIB = 2**30
TABLE = built_in_table()


def card(name: str, memory: int | None, in_host: bool | None = None, kind: str = "") -> Card:
    """Return a card that a driver reports under this name."""
    return Card(Vendor.NVIDIA, name, "", kind, memory, 0, None, in_host, None, ())


def test_every_class_is_written_once_and_carries_its_size() -> None:
    """Labels of cards end in their GiB, as the classes of pools do; every figure has a source."""
    labels = [row.label for row in TABLE.rows]

    assert sorted(set(labels)) == sorted(labels)
    assert [] == [
        row.label
        for row in TABLE.rows
        if row.memory_bytes is not None and not row.label.endswith(f"-{row.memory_bytes // GIB}g")
    ]
    assert all(row.source and row.bytes_per_second and row.names for row in TABLE.rows)


def test_every_row_is_found_by_each_of_its_names() -> None:
    """With nine tenths of its memory and more, which is what drivers report."""
    for row in TABLE.rows:
        for name in row.names:
            if row.memory_bytes is None:
                assert row == TABLE.find(card(name, None, in_host=True))
            else:
                assert row == TABLE.find(card(name, row.memory_bytes))
                assert row == TABLE.find(card(name, row.memory_bytes * 92 // 100))


@pytest.mark.parametrize(
    ("name", "memory", "label"),
    [
        ("NVIDIA GeForce RTX 4090", 24 * GIB, "rtx-4090-24g"),
        ("GeForce RTX 4090", 24 * GIB, "rtx-4090-24g"),
        ("NVIDIA GeForce RTX 4090", 48 * GIB, None),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", 16 * GIB, None),
        ("NVIDIA GeForce RTX 4090 D", 24 * GIB, None),
        ("NVIDIA GeForce RTX 3080", 12 * GIB, "rtx-3080-12g"),
        ("NVIDIA GeForce RTX 3080", 10 * GIB, "rtx-3080-10g"),
        ("Radeon RX 7900 XTX", 24 * GIB, "rx-7900-xtx-24g"),
        ("Intel(R) Arc(TM) A770 Graphics", 16 * GIB, "arc-a770-16g"),
        ("", 24 * GIB, None),
    ],
)
def test_a_card_is_known_by_name_and_memory_together(name: str, memory: int, label: str | None) -> None:
    """Another memory is another card, whatever it calls itself."""
    found = TABLE.find(card(name, memory))

    assert label == (None if found is None else found.label)


def test_a_card_without_a_name_is_known_by_its_number_on_the_bus() -> None:
    found = TABLE.find(card("", 12 * GIB, kind="8086:e20b"))

    assert found is not None
    assert "arc-b580-12g" == found.label


def test_a_persons_table_counts_first(tmp_path: Path) -> None:
    path = tmp_path / "cards.toml"
    path.write_text(
        '[[source]]\nname = "measured here"\ncard = [{ class = "rtx-4090-48g", names = ["NVIDIA GeForce RTX 4090"], '
        'memory = "48 GiB", bandwidth = "950 GB/s" }, { class = "mine-24g", names = ["NVIDIA GeForce RTX 4090"], '
        'memory = "24 GiB" }]\n',
        encoding="utf-8",
    )
    table = read_card_table(path).before(TABLE)
    found = [table.find(card("NVIDIA GeForce RTX 4090", size * GIB)) for size in (48, 24)]

    assert [("rtx-4090-48g", 950 * 10**9, "measured here"), ("mine-24g", None, "measured here")] == [
        (row.label, row.bytes_per_second, row.source) for row in found if row is not None
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", 'source is missing; expected it. Add source = [{ name = "measured here", card = [] }].'),
        ("[source]\n", ", source: it is one table; expected a list of tables. Write [[source]] with two brackets."),
        ("[[source]]\ncard = []\n", ', source[0]: name is missing; expected it. Add name = "measured here".'),
        (
            '[[source]]\nname = "x"\ncard = [{ class = "a-1g", memry = "1 GiB" }]\n',
            (
                ', source[0].card[0]: there is no key "memry"; expected one of class, names, pci, unified, memory, '
                "bandwidth. Did you mean memory?"
            ),
        ),
        (
            '[[source]]\nname = "x"\ncard = [{ class = "a-1g", memory = 24 }]\n',
            ', source[0].card[0].memory: 24 has no unit; expected a size. Write "24 GiB" or "24 GB".',
        ),
        (
            '[[source]]\nname = "x"\ncard = [{ class = "a" }]\n',
            (
                ', source[0].card[0].memory: it is missing; expected the memory of one card. Add memory = "24 GiB" or '
                "unified = true."
            ),
        ),
        (
            '[[source]]\nname = "x"\ncard = [{ class = "a", unified = true, memory = "1 GiB" }]\n',
            (
                ", source[0].card[0].memory: a chip that works in the host's memory has none of its own; expected no "
                "memory. Remove it."
            ),
        ),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused_by_its_field(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "cards.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_card_table(path)

    assert str(caught.value).endswith(problem)
    assert str(caught.value).startswith(str(path))


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    with pytest.raises(InputError) as caught:
        read_card_table(path)

    assert f"{path}: there is no such file; expected a table of cards in TOML. Check the path." == str(caught.value)


def test_classes_of_the_table_are_classes_of_a_cluster_file() -> None:
    for row in TABLE.rows:
        memory = "" if row.memory_bytes is None else f', memory = "{row.memory_bytes} B"'
        unified = "unified = true\n" if row.memory_bytes is None else ""
        text = f'[[node]]\nname = "a"\nmemory = "1 GiB"\n{unified}gpu = [{{ class = "{row.label}"{memory} }}]\n'

        assert row.label == parse_cluster(text, "a.toml").nodes[0].gpus[0].label

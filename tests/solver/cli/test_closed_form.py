"""`layerfit tiers`, `route` and `seams`: what cannot be meant, and what is not imported."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from support.closed_forms import GLM, Capture, cluster

from solver.cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("tiers",),
            "layerfit tiers: no model is named; expected MODEL, or --weight-bytes with --architecture. Name one.",
        ),
        (
            ("tiers", "x.gguf", "--weight-bytes", "5"),
            "layerfit tiers, --weight-bytes: MODEL is named too; expected one of the two. Leave one out.",
        ),
        (
            ("seams", "x.gguf", "--architecture", "glm-5.2", "--nodes", "2"),
            "layerfit seams, --architecture: MODEL is named too; expected one of the two. Leave one out.",
        ),
        (
            ("tiers", "--weight-bytes", "5"),
            "layerfit tiers: --architecture is missing; expected it where no MODEL is named. Add it.",
        ),
        (
            ("tiers", "--architecture", "glm-5.2"),
            "layerfit tiers: --weight-bytes is missing; expected it where no MODEL is named. Add it.",
        ),
        (
            ("seams", "--weight-bytes", "5", "--nodes", "2"),
            "layerfit seams: --architecture is missing; expected it where no MODEL is named. Add it.",
        ),
        (
            ("seams", "--architecture", "glm-5.2"),
            "layerfit seams: --nodes is missing; expected the number of nodes in the chain. Add it.",
        ),
        (
            ("seams", "--architecture", "glm-5.2", "--nodes", "1"),
            "layerfit seams, --nodes: 1 is too small; expected a whole number from 2. Raise it.",
        ),
        (
            ("seams", "--architecture", "glm-5.2", "--nodes", "2", "--rate", "10"),
            'layerfit seams, --rate: "10" has no unit; expected a rate. Write "10 GB/s" or "10 Gbit/s".',
        ),
        (
            ("tiers", *GLM, "--tier", "32 GiB,48"),
            'layerfit tiers, --tier: "48" has no unit; expected a size. Write "48 GiB" or "48 GB".',
        ),
        (
            ("tiers", *GLM, "--tier", "8 GiB"),
            (
                "tier of 8 GiB: its reserve of 8.0 GiB leaves a placement budget of 0.0 GiB; "
                "expected a budget above 0. Take more memory or a smaller reserve."
            ),
        ),
        (
            ("tiers", *GLM, "--imbalance-factor", "0.9"),
            (
                'layerfit tiers, --imbalance-factor: "0.9" is too small; '
                "expected a finite number of 1 or more. Write it like 1.10."
            ),
        ),
        (
            ("tiers", *GLM, "--imbalance-factor", "nan"),
            (
                'layerfit tiers, --imbalance-factor: "nan" is not a finite number; '
                "expected a finite number of 1 or more. Write it like 1.10."
            ),
        ),
        (
            ("tiers", *GLM, "--context", "0"),
            "layerfit tiers, --context: 0 is too small; expected a whole number from 1. Raise it.",
        ),
        (
            ("tiers", *GLM, "--resident-nextn"),
            (
                "layerfit tiers, --resident-nextn: the weights are given in bytes, whatever they hold; "
                "expected MODEL beside it. Leave it out."
            ),
        ),
        (
            ("tiers", *GLM, "--prove"),
            "layerfit tiers, --prove: bytes alone have no blocks to place; expected MODEL. Name its files.",
        ),
        (
            ("tiers", *GLM, "--json", "--format", "csv"),
            "--json and --format: both are given; expected one form of output. Leave one out.",
        ),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_exit_2(arguments: tuple[str, ...], message: str, capsys: Capture) -> None:
    assert 2 == main(list(arguments))
    output = capsys.readouterr()

    assert ("", f"{message}\n") == (output.out, output.err)


def test_a_route_of_one_node_is_refused(capsys: Capture, tmp_path: Path) -> None:
    assert 2 == main(["route", *GLM, "--cluster", cluster(tmp_path, 128)])
    assert "route: its nodes number 1; expected 2 or more. Add a node.\n" == capsys.readouterr().err


def test_a_route_without_a_cluster_shows_how_to_write_one(capsys: Capture) -> None:
    assert 2 == main(["route", *GLM])
    assert capsys.readouterr().err.startswith("layerfit route: no cluster is named; expected --cluster FILE.")


def test_the_closed_forms_start_without_a_solver_or_numpy() -> None:
    program = (
        "import sys\n"
        "from solver.cli import main\n"
        f"main(['tiers', *{GLM!r}, '--json'])\n"
        "print([name for name in ('ortools', 'numpy', 'rich', 'solver.solve') if name in sys.modules], file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "[]\n" == ended.stderr

"""What a layout carries in Helix's own terms, computed by HiGHS: the referee of every claim about their objective.

    python -m benchmarks.public.helix_referee               # every published layout, re-evaluated both ways

`flow(instance, layout)` is a maximum flow in tokens a second: out of the coordinator into nodes that hold layer 0,
along a link only where one run ends and the next begins, through a node no more than its rate for the layers that
it holds, back to the coordinator from nodes that hold the last layer. Nodes may share a run and split its tokens.

`flow_in_program(folder, name, layout)` reads the stored mixed-integer program itself, fixes the layout in it and lets
HiGHS solve what is left; it builds nothing of its own, so it judges `flow`. Their program gives every node at least one
layer: a node that the layout leaves out is given one there, and its links carry nothing.

Needs the extra `bench`.
"""

from __future__ import annotations

import sys
from math import inf
from typing import TYPE_CHECKING

import highspy

from benchmarks.public.folder import AbsentDataError, PublicDataError, instances_folder
from benchmarks.public.helix import PUBLISHED, ceiling, read_instance, read_layout
from benchmarks.rivals.linear import LinearModel

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.public.helix import HelixInstance, HelixLink, HelixRun, Layout

__all__ = ["flow", "flow_in_program", "main", "optimum_of_program"]


def flow(instance: HelixInstance, layout: Layout) -> float:
    """Return the most tokens a second that a layout carries; 0.0 where some layer is held by nobody.

    Raises:
        PublicDataError: a run is empty, leaves the model, is longer than its node holds, or its node has another.
    """
    runs = _runs(instance, layout)
    model = LinearModel()
    inflow: dict[int, dict[int, float]] = {node: {} for node in runs}
    balance: dict[int, dict[int, float]] = {node: {} for node in runs}
    for link in instance.links:
        if not _joins(instance, runs, link):
            continue
        column = model.column(float(link.tokens_per_second), integer=False, cost=0.0 if link.source is not None else -1)
        if link.target is not None:
            inflow[link.target][column] = balance[link.target][column] = 1.0
        if link.source is not None:
            balance[link.source][column] = -1.0
    if not model.costs:
        return 0.0
    for node, run in runs.items():
        rate = instance.nodes[node].tokens_per_second[run.end - run.start - 1]
        model.row(-inf, inflow[node], float(rate))
        model.row(0.0, balance[node], 0.0)
    highs = _silent()
    highs.passModel(model.linear_program())
    return max(0.0, -_solved(highs))


def flow_in_program(folder: Path, name: str, layout: Layout) -> float:
    """Return the optimum of a stored program with this layout fixed in it; `folder` is that of Helix.

    Raises:
        PublicDataError: the program cannot be read, or refuses the layout.
    """
    highs = _program(folder, name)
    runs = {run.node: run for run in layout}
    for column in range(highs.getNumCol()):
        _, variable = highs.getColName(column)
        what, *ends = variable.split("_")
        numbers = [int(end) if end.isdigit() else None for end in ends]
        if what == "start":
            _fix(highs, column, runs[numbers[0]].start if numbers[0] in runs else 0)
        elif what == "hold":
            held = runs[numbers[0]].end - runs[numbers[0]].start if numbers[0] in runs else 1
            _fix(highs, column, int(held == numbers[1]))
        elif what == "flow" and not all(number is None or number in runs for number in numbers):
            _fix(highs, column, 0)
    return _solved(highs)


def optimum_of_program(folder: Path, name: str) -> float:
    """Return the optimum of a stored program with nothing fixed: over all layouts, replicas included.

    Only for the smallest: HiGHS takes 0.4 s for four nodes, and leaves ten open after minutes.

    Raises:
        PublicDataError: the program cannot be read.
    """
    return _solved(_program(folder, name))


def main() -> int:
    """Print what every published layout carries, by the program and by the flow, and return the exit code."""
    folder = instances_folder()
    if folder is None:
        print("No public instances: name the folder that holds `instances` in LAYERFIT_DATA.", file=sys.stderr)
        return 0
    wrong = 0
    print(f"{'instance':<30}{'method':<8}{'published':>12}{'program':>12}{'flow':>12}{'ceiling':>12}")
    for entry in PUBLISHED:
        try:
            instance = read_instance(folder / "helix", entry.instance)
            layout = read_layout(folder / "helix" / "solutions" / f"{entry.solution}.ini")
        except AbsentDataError as absent:
            print(f"{entry.instance} is left out: {absent}", file=sys.stderr)
            continue
        program, own = flow_in_program(folder / "helix", entry.instance, layout), flow(instance, layout)
        said = "–" if entry.tokens_per_second is None else f"{entry.tokens_per_second:.3f}"
        print(
            f"{entry.instance:<30}{entry.method:<8}{said:>12}{program:>12.3f}{own:>12.3f}{float(ceiling(instance)):>12.3f}"
        )
        known = (program,) if entry.tokens_per_second is None else (program, entry.tokens_per_second)
        wrong += any(abs(own - value) > 1e-6 * value for value in known)
    return 1 if wrong else 0


def _runs(instance: HelixInstance, layout: Layout) -> dict[int, HelixRun]:
    runs: dict[int, HelixRun] = {}
    for run in layout:
        if not 0 <= run.node < len(instance.nodes) or run.node in runs:
            raise PublicDataError(f"{run}: expected one run for each of the nodes 0 to {len(instance.nodes) - 1}.")
        if not 0 <= run.start < run.end <= instance.layers:
            raise PublicDataError(f"{run}: expected some of layers 0 to {instance.layers - 1}.")
        if run.end - run.start > instance.nodes[run.node].max_layers:
            raise PublicDataError(f"{run}: expected at most {instance.nodes[run.node].max_layers} layers.")
        runs[run.node] = run
    return runs


def _joins(instance: HelixInstance, runs: dict[int, HelixRun], link: HelixLink) -> bool:
    """Return whether tokens can pass: from where a run ends to where one begins."""
    if link.source is not None and link.source not in runs:
        return False
    if link.target is not None and link.target not in runs:
        return False
    at = 0 if link.source is None else runs[link.source].end
    return at == (instance.layers if link.target is None else runs[link.target].start)


def _program(folder: Path, name: str) -> highspy.Highs:
    highs, path = _silent(), folder / "lp" / f"{name}.lp"
    if not path.exists():
        raise AbsentDataError(path)
    if highs.readModel(str(path)) != highspy.HighsStatus.kOk:
        raise PublicDataError(f"{name}.lp: HiGHS cannot read it; expected a program in the CPLEX LP format.")
    return highs


def _silent() -> highspy.Highs:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    return highs


def _fix(highs: highspy.Highs, column: int, value: int) -> None:
    highs.changeColBounds(column, float(value), float(value))


def _solved(highs: highspy.Highs) -> float:
    highs.run()
    status = highs.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal:
        raise PublicDataError(f"HiGHS ends with {status}; expected an optimum. Is the layout one of this program?")
    return float(highs.getInfo().objective_function_value)


if __name__ == "__main__":
    sys.exit(main())

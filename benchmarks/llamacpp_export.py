"""Whether what an export prints does what its plan says, with the real program on this computer.

    python -m benchmarks.llamacpp_export --program-folder FOLDER [--cases N] [--first SEED] [--models DIR] [--keep DIR]

FOLDER holds `llama-server` and `ggml-rpc-server` of the build that exports assume. Models are header-only files: those
of `headers.tar.xz` beside the truth of `benchmarks.llamacpp_truth` unless `--models` names others, as far as they are
small enough to be loaded here. Every case is drawn, planned, exported, started as printed, and its log is held against
the plan and against the emulation of the printed line by `layerfit verify-log`. Exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.llamacpp_export_cases import case_of, first_port
from benchmarks.llamacpp_export_run import run_export
from benchmarks.llamacpp_models import unpack_headers
from benchmarks.llamacpp_slots import differing_slots
from benchmarks.llamacpp_truth import truth_folder
from solver.cli import main as layerfit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.llamacpp_export_cases import Case
    from benchmarks.llamacpp_export_run import Run

__all__ = ["main"]

_LARGEST_MODEL = 180 * 10**6
_GROWTHS = 4
_AGREES, _UNSAID = "agrees", ("not predicted", "not logged")


def main() -> int:
    """Run as many cases as the command line asks for, print figures by kind, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llamacpp_export", description="Do exports do it?")
    parser.add_argument("--program-folder", type=Path, required=True)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--models", type=Path, default=None, help="a folder of header-only files")
    parser.add_argument("--keep", type=Path, default=None, help="where plans and logs that differ are kept")
    chosen = parser.parse_args()
    tally: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        models = chosen.models
        if models is None:
            models = Path(folder) / "headers"
            unpack_headers(truth_folder(), models)
        files = [path for path in sorted(models.glob("*.gguf")) if _can_be_loaded(path)]
        for seed in range(chosen.first, chosen.first + chosen.cases):
            work = Path(folder) / str(seed)
            work.mkdir()
            problems = list(_problems(files, seed, chosen.program_folder, work, tally))
            tally["runs that agree"] += not problems and (work / "log").exists()
            for problem in problems:
                tally["problems"] += 1
                print(f"seed {seed}, {files[seed % len(files)].name}: {problem}", flush=True)
            if problems and chosen.keep is not None:
                shutil.copytree(work, chosen.keep / str(seed), dirs_exist_ok=True)
            shutil.rmtree(work)
    for what, count in sorted(tally.items()):
        print(f"{count:8,} {what}")
    return 1 if tally["problems"] else 0


def _can_be_loaded(path: Path) -> bool:
    """Return whether a file is a whole model that is small enough for one computer that plays them all."""
    return path.stat().st_size <= _LARGEST_MODEL and "-of-" not in path.name


def _problems(files: Sequence[Path], seed: int, programs: Path, work: Path, tally: Counter[str]) -> Iterator[str]:
    """Yield what differs in the case of a seed."""
    case = _planned(files, seed, work, tally)
    if case is None:
        return
    code, said = _call(["export", str(work / "plan.json"), "--engine", "llamacpp", "--json"])
    if code:
        tally["not exported"] += 1
        yield f"not exported: {said.strip()}"
        return
    (work / "export.json").write_text(said)
    document = json.loads(said)
    run = run_export(document, programs, work / "log", first_port(seed))
    (work / "words").write_text("\n".join(run.words))
    log = (work / "log").read_text(errors="replace")
    if not run.loaded:
        tally["not loaded"] += 1
        yield f"not loaded: {_complaint(log)}"
        return
    tally["runs"] += 1
    plan = json.loads((work / "plan.json").read_text())
    slots = list(differing_slots(log, plan, document["machines"][-1]["commands"][-1]["words"], run.names))
    tally["slots compared"] += plan["model"]["trunk_blocks"] + plan["model"]["nextn_blocks"] + 1
    yield from slots
    yield from _verified(work, work / "plan.json", (), "plan", tally)
    yield from _emulated(document, run, work, tally)


def _planned(files: Sequence[Path], seed: int, work: Path, tally: Counter[str]) -> Case | None:
    """Write the plan of a case; None where there is none on any of the sizes that are tried."""
    model = files[seed % len(files)]
    for growth in range(_GROWTHS):
        case = case_of(model, seed, model.stat().st_size, growth)
        (work / "cluster.toml").write_text(case.cluster)
        words = (
            "plan",
            str(model),
            "--cluster",
            str(work / "cluster.toml"),
            *case.words,
            "-o",
            str(work / "plan.json"),
        )
        (work / "question").write_text(" ".join(words))
        code, said = _call([*words, "--time-limit", "20", "--workers", "2"])
        if code == 0:
            return case
    tally[f"no plan: {' '.join(said.split())[-160:]}"] += 1
    return None


def _emulated(document: dict[str, Any], run: Run, work: Path, tally: Counter[str]) -> Iterator[str]:
    """Yield what differs between the log and the emulation of the printed line."""
    code, said = _call(["emulate", "--json", "--", *document["machines"][-1]["commands"][-1]["words"]])
    if code:
        yield f"not emulated: {said.strip()}"
        return
    (work / "emulation.json").write_text(said)
    pairs = [word for logged, printed in run.names.items() for word in ("--device", f"{logged}={printed}")]
    yield from _verified(work, work / "emulation.json", pairs, "emulation", tally)


def _verified(work: Path, against: Path, pairs: Sequence[str], name: str, tally: Counter[str]) -> Iterator[str]:
    """Yield the rows of `layerfit verify-log` that do not agree; what only one side says is a problem of its own."""
    code, said = _call(["verify-log", str(work / "log"), "--plan", str(against), "--json", *pairs])
    if not said.startswith("{"):
        yield f"{name} not verified ({code}): {said.strip()}"
        return
    for row in json.loads(said)["rows"]:
        tally[f"{name}, {row['what']}: {row['verdict']}"] += 1
        if row["verdict"] != _AGREES:
            yield f"{name}: {row}"


def _call(words: list[str]) -> tuple[int, str]:
    said = StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = layerfit(words)
    return code, said.getvalue()


def _complaint(log: str) -> str:
    lines = [line for line in log.splitlines() if " E " in line or "error" in line.lower() or "GGML_ASSERT" in line]
    return " | ".join(lines[:3])[:600] or log[-300:]


if __name__ == "__main__":
    sys.exit(main())

"""Whether what an export prints does what its plan says, with the real program on this computer.

    python -m benchmarks.llamacpp_export --program-folder FOLDER [--cases N] [--first SEED] [--models DIR] [--keep DIR]

FOLDER holds `llama-server`, `llama-fit-params` and `ggml-rpc-server` of the build that exports assume. Models are
header-only files: those of `headers.tar.xz` beside the truth of `benchmarks.llamacpp_truth` unless `--models` names
others. Every case is drawn, planned and exported; what `llama-fit-params` estimates of the printed line is held against
its emulation. Where the model is small enough the line is started as printed, and `layerfit verify-log` holds its log
against the plan and against the emulation. `--keep` says where the files of differing cases go. Exit code 1 where
anything differs.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.llamacpp_estimates import differing_estimates
from benchmarks.llamacpp_export_cases import case_of, first_port
from benchmarks.llamacpp_export_run import ESTIMATOR_FLAGS, estimate, load, served
from benchmarks.llamacpp_models import unpack_headers
from benchmarks.llamacpp_slots import differing_slots
from benchmarks.llamacpp_truth import truth_folder
from solver.cli import main as layerfit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.llamacpp_export_cases import Case
    from benchmarks.llamacpp_export_run import Head

__all__ = ["main"]

_LARGEST_MODEL = 180 * 10**6
_GROWTHS = 4
_PLAN, _EMULATION = "plan", "emulation"
_HELD = {_PLAN: ("agrees", "not predicted"), _EMULATION: ("agrees",)}
"""Verdicts that are no problem: a plan is silent where its engine has no rule."""


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
        files = [path for path in sorted(models.glob("*.gguf")) if "-of-" not in path.name]
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


def _is_small(path: Path) -> bool:
    """Return whether a model can be loaded on one computer that plays all machines."""
    return path.stat().st_size <= _LARGEST_MODEL


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
    with served(document, programs, first_port(seed)) as head:
        (work / "words").write_text(shlex.join(head.words))
        yield from _compared_estimate(document, head, programs, work, tally)
        if _is_small(files[seed % len(files)]):
            yield from _compared_run(document, head, programs, work, tally)


def _compared_run(
    document: dict[str, Any], head: Head, programs: Path, work: Path, tally: Counter[str]
) -> Iterator[str]:
    loaded = load(head, programs, work / "log")
    log = (work / "log").read_text(errors="replace")
    if not loaded:
        tally["not loaded"] += 1
        yield f"not loaded: {_complaint(log)}"
        return
    tally["runs"] += 1
    plan = json.loads((work / "plan.json").read_text())
    printed = document["machines"][-1]["commands"][-1]["words"]
    tally["slots compared"] += plan["model"]["trunk_blocks"] + plan["model"]["nextn_blocks"] + 1
    yield from differing_slots(log, plan, printed, head.names)
    yield from _verified(work, work / "plan.json", (), _PLAN, tally)
    if _emulated(printed, work / "emulation.json"):
        pairs = [word for logged, name in head.names.items() for word in ("--device", f"{logged}={name}")]
        yield from _verified(work, work / "emulation.json", pairs, _EMULATION, tally)
    else:
        yield f"not emulated: {(work / 'emulation.json').read_text().strip()}"


def _compared_estimate(
    document: dict[str, Any], head: Head, programs: Path, work: Path, tally: Counter[str]
) -> Iterator[str]:
    printed = document["machines"][-1]["commands"][-1]["words"]
    target = work / "estimated.json"
    if not _emulated(["llama-fit-params", *printed[1:], *ESTIMATOR_FLAGS], target):
        yield f"not emulated: {target.read_text().strip()}"
        return
    said = estimate(head, programs)
    (work / "estimate").write_text(said)
    tally["estimates"] += 1
    yield from differing_estimates(said, json.loads(target.read_text()), head.names, tally)


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


def _emulated(words: Sequence[str], target: Path) -> bool:
    """Write the emulation of a line, or why there is none; return whether there is one."""
    code, said = _call(["emulate", "--json", "--", *words])
    target.write_text(said)
    return code == 0


def _verified(work: Path, against: Path, pairs: Sequence[str], name: str, tally: Counter[str]) -> Iterator[str]:
    """Yield the rows of `layerfit verify-log` that are not as they were said."""
    code, said = _call(["verify-log", str(work / "log"), "--plan", str(against), "--json", *pairs])
    if not said.startswith("{"):
        yield f"{name} not verified ({code}): {said.strip()}"
        return
    rows = json.loads(said)["rows"]
    # What is repacked for the processor is not predicted, and is left out of what is mapped.
    repacked = any(row["what"] == "repacked" for row in rows)
    for row in rows:
        if repacked and row["what"] in ("repacked", "mapped"):
            tally[f"{name}, {row['what']}: not compared, the processor repacks"] += 1
            continue
        tally[f"{name}, {row['what']}: {row['verdict']}"] += 1
        if row["verdict"] not in _HELD[name]:
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

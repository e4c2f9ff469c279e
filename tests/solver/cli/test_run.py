"""Errors become one line and an exit code, whatever they are."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
from cyclopts import App

from solver.cli import main, run
from solver.cli.application import COMMANDS, Command, application
from solver.errors import AuditError, InputError, UsageError
from solver.version import VERSION
from tensors.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.commands import Layerfit

HELP = 'See "layerfit inspect --help".'


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Return a function that makes every command raise an error."""

    def make(error: BaseException) -> None:
        def command() -> None:
            raise error

        app = App(
            result_action="return_value", exit_on_error=False, print_error=False, suppress_keyboard_interrupt=False
        )
        app.default(command)
        monkeypatch.setattr(run, "application", lambda: app)

    return make


@pytest.mark.parametrize("command", COMMANDS, ids=[command.name for command in COMMANDS])
def test_every_command_is_there_and_explains_itself(command: Command, layerfit: Layerfit) -> None:
    """Each is imported only when it is asked for, so a name that leads nowhere would show here alone."""
    code, out, err = layerfit(command.name, "--help")

    assert (0, "") == (code, err)
    assert out.startswith(f"Usage: layerfit {command.name} ")
    assert "--json" in out


def test_version_is_one_line(layerfit: Layerfit) -> None:
    assert (0, f"layerfit {VERSION}\n", "") == layerfit("--version")


def test_without_arguments_the_commands_are_listed_in_the_order_of_work(layerfit: Layerfit) -> None:
    code, out, err = layerfit()
    places = [out.index(f"│ {command.name} ") for command in COMMANDS]

    assert (0, "") == (code, err)
    assert sorted(places) == places


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["inspekt"],
            (
                'layerfit: there is no command "inspekt"; '
                "expected one of plan, options, compare, inspect, check, verify-log, tiers, route, seams, export, "
                "emulate, nodes, synth. Did you mean inspect?"
            ),
        ),
        (
            ["--jsn"],
            'layerfit: there is no option "--jsn" here; expected a command before it. See "layerfit --help".',
        ),
        (["inspect"], f"layerfit inspect: MODEL is missing; expected it after the command. {HELP}"),
        (["inspect", "a", "b"], f'layerfit inspect: "b" is one argument too many; expected fewer. {HELP}'),
        (
            ["inspect", "a", "--bye", "role"],
            'layerfit inspect: there is no option "--bye"; expected one that this command knows. Did you mean --by?',
        ),
        (
            ["inspect", "a", "--zz=3"],
            f'layerfit inspect: there is no option "--zz"; expected one that this command knows. {HELP}',
        ),
        (
            ["inspect", "a", "-z"],
            f'layerfit inspect: there is no option "-z"; expected one that this command knows. {HELP}',
        ),
        (
            ["inspect", "a", "--by", "rôle\x1b"],
            (
                'layerfit inspect, --by: "rôle\\x1b" is unknown; expected block, role, type, tensor or file. '
                "Did you mean role?"
            ),
        ),
        (
            ["synth", "tiny"],
            'layerfit synth: --output is missing; expected it after the command. See "layerfit synth --help".',
        ),
    ],
)
def test_bad_usage_is_one_line_and_exit_2(arguments: list[str], message: str, layerfit: Layerfit) -> None:
    """Nothing is written to standard output, and control characters reach no terminal."""
    assert (2, "", f"{message}\n") == layerfit(*arguments)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (InputError("a.toml, node[0]", "it is\nbad"), 2, "a.toml, node[0]: it is\\nbad"),
        (FormatError("a.gguf", 1024, "it is \x1b[31mbad"), 2, "a.gguf, byte 1,024: it is \\x1b[31mbad"),
        (UsageError("layerfit plan: no"), 2, "layerfit plan: no"),
        (UsageError("layerfit plan: no", example="[[node]]\n"), 2, "layerfit plan: no\n\n[[node]]"),
        (
            PermissionError(13, "Permission denied", "/root/x"),
            2,
            "/root/x: permission denied; expected a path that can be used. Check it and its permissions.",
        ),
        (AuditError("the audit refuses the answer"), 70, "the audit refuses the answer"),
        (
            KeyError("x"),
            70,
            (
                "layerfit: KeyError: 'x'; expected no such error: it is a bug. "
                "Run again with --debug and report what it shows."
            ),
        ),
        (KeyboardInterrupt(), 130, "layerfit: interrupted before there was an answer."),
    ],
)
def test_an_error_is_one_line_and_its_exit_code(
    error: BaseException, code: int, message: str, raising: Callable[[BaseException], None], layerfit: Layerfit
) -> None:
    raising(error)

    assert (code, "", f"{message}\n") == layerfit()


def test_debug_shows_where_an_error_came_from(raising: Callable[[BaseException], None], layerfit: Layerfit) -> None:
    """Wherever it stands, and the line stays the last."""
    raising(InputError("a.toml", "bad"))
    code, out, err = layerfit("--debug")

    assert (2, "") == (code, out)
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith("\na.toml: bad\n")


def test_debug_behind_two_dashes_belongs_to_another_program(layerfit: Layerfit) -> None:
    """There it is an argument like any other."""
    message = f'layerfit inspect: there is no option "--debug"; expected one that this command knows. {HELP}\n'

    assert (2, "", message) == layerfit("inspect", "a", "--", "--debug")


def test_a_reader_that_goes_away_is_no_error(tiny_model: Path) -> None:
    """As with a pipe into `head`: quiet, with the exit code of a process that SIGPIPE ended."""
    shell = f'"{sys.executable}" -m solver inspect "{tiny_model}" --by tensor --format csv 2>&1 >&3 3>&- | cat >&2'
    script = f"exec 3> >(exec 0<&-); sleep 0.2; {shell}; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)

    assert (141, "") == (ran.returncode, ran.stderr)


def test_registered_commands_are_those_of_the_application() -> None:
    app = application()

    assert {command.name for command in COMMANDS} <= {name for name in app if not name.startswith("-")}


@pytest.mark.parametrize("arguments", [["--help"], ["plan", "--help"], ["inspekt"]])
def test_a_reader_that_was_never_there_is_no_error_either(arguments: list[str], repository: Path) -> None:
    """Whether help or an error is what nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        command = [sys.executable, "-m", "solver", *arguments]
        ran = subprocess.run(command, cwd=repository, stdout=writer, stderr=writer, check=False, timeout=60)
    finally:
        os.close(writer)

    assert 141 == ran.returncode


def test_streams_that_are_closed_take_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with `>&-` of a shell."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)

    codes = main(["--version"]), main(["inspekt"])
    for stream in (sys.stdout, sys.stderr):
        stream.close()

    assert (0, 2) == codes


def test_an_interrupt_while_modules_are_imported_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted(ModuleType):
        """A module whose import takes a while."""

        def __getattr__(self, name: str) -> object:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "solver.cli.run", Interrupted("solver.cli.run"))

    assert 130 == main(["plan"])
    assert ("", "layerfit: interrupted before there was an answer.\n") == capsys.readouterr()

"""Errors of the argument parser in the wording of the house: where, what is there, what was expected, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclopts import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from solver.cli.application import COMMANDS
from solver.wording import quoted, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["usage_sentence"]


def usage_sentence(error: CycloptsError) -> str:
    """Return one sentence for a person about arguments that cannot be meant."""
    command = " ".join(("layerfit", *(error.command_chain or ())))
    if isinstance(error, UnknownCommandError):
        return _unknown_command(error)
    return f"{command}{_problem(command, error)}"


def _problem(command: str, error: CycloptsError) -> str:
    help_hint = f'See "{command} --help".'
    match error:
        case UnknownOptionError():
            return _unknown_option(error, help_hint)
        case UnusedCliTokensError():
            return f": {quoted((error.unused_tokens or [''])[0])} is one argument too many; expected fewer. {help_hint}"
        case CoercionError():
            return _bad_value(error, help_hint)
        case RepeatArgumentError():
            return f", {error.token.keyword}: it is given twice; expected once. Leave one out."
        case MissingArgumentError():
            return _missing(error, help_hint)
        case _:
            return f": {error} {help_hint}"


def _unknown_command(error: UnknownCommandError) -> str:
    word = (error.unused_tokens or [""])[0]
    known = [command.name for command in COMMANDS]
    if word.startswith("-"):
        return f'layerfit: there is no option {quoted(word)} here; expected a command before it. See "layerfit --help".'
    hint = suggestion(word, known)
    return f"layerfit: there is no command {quoted(word)}; expected one of {', '.join(known)}. {hint}".rstrip()


def _unknown_option(error: UnknownOptionError, help_hint: str) -> str:
    word = (error.token.keyword or error.token.value).partition("=")[0]
    known = _long_names(name for argument in error.argument_collection for name in argument.names)
    hint = suggestion(word, known) or help_hint
    return f": there is no option {quoted(word)}; expected one that this command knows. {hint}"


def _long_names(names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith("--")]


def _bad_value(error: CoercionError, help_hint: str) -> str:
    keyword = error.token.keyword if error.token is not None else None
    where = keyword or (error.argument.name if error.argument is not None else "value")
    if isinstance(error.__cause__, ValueError) and error.msg is not None:
        return f", {where}: {error.__cause__}"
    if error.target_type is bool and error.token is not None:
        return f", {where}: it is given {quoted(error.token.value)}; expected no value. Write {where} alone."
    return f", {where}: {error} {help_hint}"


def _missing(error: MissingArgumentError, help_hint: str) -> str:
    argument = error.argument
    if argument is None:
        return f": an argument is missing; expected it after the command. {help_hint}"
    name = next((name for name in argument.names if name.startswith("--")), argument.name)
    if error.keyword or argument.tokens or not argument.required:
        return f", {error.keyword or name}: no value stands after it; expected one. {help_hint}"
    return f": {name} is missing; expected it after the command. {help_hint}"

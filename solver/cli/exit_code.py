"""What a command says to the shell."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["INTERRUPTED_EARLY", "ExitCode"]

INTERRUPTED_EARLY = "layerfit: interrupted before there was an answer."


class ExitCode(IntEnum):
    """What a command says to the shell."""

    ANSWERED = 0
    ANSWER_IS_NO = 1
    BAD_INPUT = 2
    NO_ANSWER = 3
    BUG = 70
    INTERRUPTED = 130
    NOBODY_READS = 141

"""Plans as text without colour and times, and its sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.report.plan_text import plan_text
from solver.report.terminal import Paint

if TYPE_CHECKING:
    from solver.planning import Plan

__all__ = ["PLAIN", "section", "text_of"]

PLAIN = Paint(enabled=False)


def text_of(found: Plan) -> str:
    return plan_text(found, PLAIN, timings=False)


def section(text: str, start: str) -> list[str]:
    return next(part for part in text.split("\n\n") if part.startswith(start)).splitlines()

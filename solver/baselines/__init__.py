"""Split rules of other engines, as baselines: `STRATEGIES[name].place(problem)`.

The rules are imported when they are first looked up, so that a plan which needs none of them does not pay for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from solver.baselines.strategy import NoPlacement as NoPlacement
from solver.baselines.strategy import Strategy as Strategy

if TYPE_CHECKING:
    from solver.baselines.registry import STRATEGIES as STRATEGIES

__all__ = ["STRATEGIES", "NoPlacement", "Strategy"]


def __getattr__(name: str) -> object:
    """Return the registry."""
    if name != "STRATEGIES":
        raise AttributeError(f"module 'solver.baselines' has no attribute {name!r}")
    return import_module("solver.baselines.registry").STRATEGIES

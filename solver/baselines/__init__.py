"""Split rules of other engines, as baselines: `STRATEGIES[name].place(problem)`."""

from solver.baselines.registry import STRATEGIES as STRATEGIES
from solver.baselines.strategy import NoPlacement as NoPlacement
from solver.baselines.strategy import Strategy as Strategy

__all__ = ["STRATEGIES", "NoPlacement", "Strategy"]

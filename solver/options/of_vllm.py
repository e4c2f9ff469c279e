"""A safetensors artifact as vLLM holds it: ranks of equal width on cards of one kind.

The engine is asked for one rank and for several: what it keeps of a card differs between the two and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from solver.cluster import Cluster
from solver.engines.vllm import PROFILE, vllm
from solver.errors import InputError
from solver.options.cuts import Cut, Cutter
from solver.problem import Rules
from tensors.errors import TensorsError

if TYPE_CHECKING:
    from solver.effort import Effort
    from solver.options.kinds import Kind
    from solver.workload import Workload
    from tensors.inventory import Inventory

__all__ = ["RankCut", "VllmRanks"]

_NO_RULES: Final = Rules(pins=(), first=None, last=None, order=(), exclude=(), max_nodes=None, min_blocks=1)
_HOST_MEMORY: Final = 2**50
_MOST_RANKS: Final = 64


@dataclass(frozen=True, slots=True)
class RankCut:
    """A cut into ranks. Bytes are of one card: of each stage, beside the engine's share of a card."""

    cut: Cut
    stage_bytes: tuple[int, ...]
    have_bytes: int


@dataclass(frozen=True, slots=True)
class _Base:
    """A problem of ranks: `budget_bytes` of a rank's cards together, `have_bytes` the engine's share of one card."""

    cutter: Cutter
    budget_bytes: int
    have_bytes: int
    blocks: int


class VllmRanks:
    """The cuts of one artifact, made when they are asked for."""

    def __init__(self, inventory: Inventory, workload: Workload, effort: Effort) -> None:
        self._inventory = inventory
        self._workload = workload
        self._effort = effort
        self._known: dict[tuple[int, int, int, bool], _Base] = {}
        self._refused: dict[int, str] = {}

    @property
    def refusal(self) -> str:
        """Return why the engine refuses the artifact even on single cards, "" where it does not."""
        return self._refused.get(1, "")

    def shortfall(self, kind: Kind, width: int, ranks: int) -> str:
        """Return why there is no cut over so many ranks."""
        base = self._base(kind, width, several=ranks > 1)
        if base is None:
            return self._refused[width].rstrip(".")
        return base.cutter.shortfall((base.budget_bytes,) * ranks)

    @property
    def is_open(self) -> bool:
        """Return whether a question was left without an answer."""
        return any(base.cutter.is_open for base in self._known.values())

    def fewest(self, kind: Kind, width: int, most: int) -> int | None:
        """Return the fewest ranks of a width that hold the model, up to `most`; None if none do."""
        alone, several = self._base(kind, width, several=False), self._base(kind, width, several=True)
        if alone is None or several is None or most < 1:
            return None
        if alone.cutter.fewest((alone.budget_bytes,)) is not None:
            return 1
        # At least two, as what one rank keeps of its cards is not what each of several does.
        fewest = several.cutter.fewest((several.budget_bytes,) * min(_MOST_RANKS, several.blocks))
        return None if fewest is None or max(fewest, 2) > most else max(fewest, 2)

    def cut(self, kind: Kind, width: int, ranks: int) -> RankCut | None:
        """Return the cut over so many ranks, each with a block; None where there is none or the engine refuses."""
        base = self._base(kind, width, several=ranks > 1)
        cut = None if base is None else base.cutter.cut((base.budget_bytes,) * ranks)
        if base is None or cut is None or len(cut.stages) < ranks:
            return None
        aside = base.have_bytes - base.budget_bytes // width
        return RankCut(cut, tuple(aside + stage.load_bytes // width for stage in cut.stages), base.have_bytes)

    def longest_context(self, kind: Kind, width: int, ranks: int) -> int | None:
        """Return the longest context over so many ranks, None where caches do not grow."""
        base = self._base(kind, width, several=ranks > 1)
        return None if base is None else base.cutter.longest_context((base.budget_bytes,) * ranks)

    def _base(self, kind: Kind, width: int, *, several: bool) -> _Base | None:
        if width in self._refused:
            return None
        key = (kind.memory_bytes, kind.allowed_bytes, width, several)
        if key not in self._known:
            try:
                self._known[key] = self._build(kind, width, several=several)
            except (InputError, TensorsError) as error:
                self._refused[width] = str(error)
                return None
        return self._known[key]

    def _build(self, kind: Kind, width: int, *, several: bool) -> _Base:
        nodes = tuple(kind.machine(str(number), width, _HOST_MEMORY) for number in range(2 if several else 1))
        cluster = Cluster(nodes, latency_ns=0, bytes_per_second=None, links=())
        served = vllm(self._inventory, cluster, self._workload, _NO_RULES, PROFILE.settings(width))
        return _Base(
            cutter=Cutter(served.problem, self._effort),
            budget_bytes=served.problem.nodes[0].budget_bytes,
            have_bytes=served.share.bytes_of(served.devices[0].card_bytes),
            blocks=len(served.problem.blocks),
        )

"""Beginnings of runs side by side in arrays, and which of them no other makes needless."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Labels", "joined", "undominated"]

_MOST_COMPARED = 2_000


@dataclass(eq=False)
class Labels:
    """Beginnings of a run by boundary: shape (labels,), `uses` (memories, labels); what came before, and the trade."""

    ends: NDArray[np.int64]
    costs: NDArray[np.int64]
    uses: NDArray[np.int64]
    before: NDArray[np.int64]
    trades: NDArray[np.int64]
    sources: NDArray[np.int64]

    def taken(self, which: NDArray[np.int64]) -> Labels:
        """Return some of the labels."""
        return Labels(
            self.ends[which],
            self.costs[which],
            self.uses[:, which],
            self.before[which],
            self.trades[which],
            self.sources[which],
        )


def joined(parts: list[Labels]) -> Labels:
    """Return all labels of the parts, in their order."""
    return Labels(
        np.concatenate([part.ends for part in parts]),
        np.concatenate([part.costs for part in parts]),
        np.concatenate([part.uses for part in parts], axis=1),
        np.concatenate([part.before for part in parts]),
        np.concatenate([part.trades for part in parts]),
        np.concatenate([part.sources for part in parts]),
    )


def undominated(labels: Labels) -> Labels:
    """Return the labels without those that cost and use no less of everything than another at their boundary."""
    costs = labels.costs if labels.costs.dtype != object else np.unique(labels.costs, return_inverse=True)[1]
    if len(labels.uses) == 1:
        labels = labels.taken(np.lexsort((costs, labels.uses[0], labels.ends)))
        costs = labels.costs
        # Costs below all before them at the same boundary: later boundaries are shifted below earlier ones.
        ranks = np.unique(costs, return_inverse=True)[1].astype(np.int64)
        ranks -= labels.ends * (len(costs) + 1)
        least = np.minimum.accumulate(ranks)
        falls = np.concatenate(([True], ranks[1:] < least[:-1]))
        return labels.taken(np.flatnonzero(falls))
    kept = []
    for end in np.unique(labels.ends):
        at = np.flatnonzero(labels.ends == end)
        if len(at) > _MOST_COMPARED:
            kept.append(at)
            continue
        at = at[np.lexsort((*labels.uses[:, at], costs[at]))]
        figures = np.concatenate((costs[None, at], labels.uses[:, at])).T
        no_more = (figures[:, None, :] <= figures[None, :, :]).all(axis=2)
        # Of equals the first stays.
        kept.append(at[~np.triu(no_more, 1).any(axis=0)])
    return labels.taken(np.concatenate(kept))

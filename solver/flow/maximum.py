"""Maximum flow in whole numbers (Dinic, 1970: blocking flows along shortest paths). Exact at any size of capacity."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

__all__ = ["Network"]


@dataclass(slots=True)
class Network:
    """A directed network of numbered vertices; `add` its arcs, then ask once for `maximum`.

    Arc k and arc k ^ 1 are each other's reverse. `heads[k]` is where arc k leads, `rest[k]` what it can still carry,
    `arcs[v]` the arcs out of vertex v.
    """

    heads: list[int] = field(default_factory=list)
    rest: list[int] = field(default_factory=list)
    arcs: dict[int, list[int]] = field(default_factory=dict)

    def add(self, source: int, target: int, capacity: int) -> None:
        """Add an arc that carries at most its capacity."""
        for tail, head, amount in ((source, target, capacity), (target, source, 0)):
            self.arcs.setdefault(tail, []).append(len(self.heads))
            self.heads.append(head)
            self.rest.append(amount)

    def maximum(self, source: int, target: int) -> int:
        """Return the most that can flow from one vertex to another; it leaves the arcs used up."""
        total = 0
        while True:
            levels = self._levels(source)
            if target not in levels:
                return total
            untried = {vertex: list(arcs) for vertex, arcs in self.arcs.items()}
            while pushed := self._push(source, target, levels, untried):
                total += pushed

    def _levels(self, source: int) -> dict[int, int]:
        """Return the distance in arcs of every vertex that can still be reached."""
        levels = {source: 0}
        waiting = deque([source])
        while waiting:
            vertex = waiting.popleft()
            for arc in self.arcs.get(vertex, ()):
                if self.rest[arc] > 0 and self.heads[arc] not in levels:
                    levels[self.heads[arc]] = levels[vertex] + 1
                    waiting.append(self.heads[arc])
        return levels

    def _push(self, source: int, target: int, levels: dict[int, int], untried: dict[int, list[int]]) -> int:
        """Send as much as one more shortest path carries, and return it; 0 where none is left."""
        path: list[int] = []
        vertex = source
        while vertex != target:
            arcs = untried.get(vertex, [])
            while arcs and not (self.rest[arcs[-1]] > 0 and levels.get(self.heads[arcs[-1]]) == levels[vertex] + 1):
                arcs.pop()
            if arcs:
                path.append(arcs[-1])
                vertex = self.heads[arcs[-1]]
            elif path:
                # A dead end: go back, and do not come this way again.
                vertex = self.heads[path.pop() ^ 1]
                untried[vertex].pop()
            else:
                return 0
        pushed = min(self.rest[arc] for arc in path)
        for arc in path:
            self.rest[arc] -= pushed
            self.rest[arc ^ 1] += pushed
        return pushed

"""Names of nodes in a problem's document: members of counts, and what a name elsewhere means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solver.errors import InputError
from solver.problem_file.document import MOST_NODES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from solver.problem_file.document import NodePart

__all__ = ["distinct", "listed", "members_of", "named", "single"]

_SHOWN = 8


def members_of(parts: tuple[NodePart, ...], where: str) -> dict[str, tuple[str, ...]]:
    """Return the names of the nodes that each name of the document stands for.

    Raises:
        InputError: a name is taken, or counts make too many nodes.
    """
    members: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for index, part in enumerate(parts):
        names = (part.name,) if part.count == 1 else tuple(f"{part.name}-{number + 1}" for number in range(part.count))
        for name in (part.name, *names) if part.name not in names else names:
            if name in seen or name in members:
                raise InputError(
                    f"{where}, nodes[{index}].name", f'"{name}" is taken; expected one name a node. Rename one of them.'
                )
        seen.update(names)
        members[part.name] = names
        if len(seen) > MOST_NODES:
            raise InputError(
                f"{where}, nodes[{index}].count", f"more than {MOST_NODES} nodes; expected fewer. Lower the counts."
            )
    return members


def named(name: str, members: Mapping[str, tuple[str, ...]], where: str) -> tuple[str, ...]:
    """Return the nodes that a name stands for.

    Raises:
        InputError: it stands for none.
    """
    if name in members:
        return members[name]
    if any(name in names for names in members.values()):
        return (name,)
    raise InputError(where, f'no node is called "{name}"; expected one of {listed(members)}. Correct the name.')


def single(name: str, members: Mapping[str, tuple[str, ...]], where: str) -> str:
    """Return the one node that a name stands for.

    Raises:
        InputError: it stands for none or for several.
    """
    names = named(name, members, where)
    if len(names) > 1:
        raise InputError(where, f'"{name}" is {len(names)} nodes; expected one of them. Write "{names[0]}".')
    return names[0]


def distinct(names: tuple[str, ...], what: str, where: str) -> tuple[str, ...]:
    """Return names that stand once each; `what` says what they name.

    Raises:
        InputError: one stands twice.
    """
    if len(set(names)) < len(names):
        raise InputError(where, f"a {what} stands in it twice; expected each once. Remove one.")
    return names


def listed(names: Iterable[str]) -> str:
    """Return the first of some names for a message."""
    known = [f'"{name}"' for name in names]
    return ", ".join(known[:_SHOWN]) + (" …" if len(known) > _SHOWN else "")

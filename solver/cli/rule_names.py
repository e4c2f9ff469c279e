"""Names of nodes in flags: a name that a file gave a count to means each of its members, where that can be meant."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from solver.errors import UsageError
from solver.wording import either, quoted, suggestion

if TYPE_CHECKING:
    from collections.abc import Collection

    from solver.problem import Rules

__all__ = ["with_members"]

_MOST_SHOWN: Final = 8


def with_members(rules: Rules, names: Collection[str], command: str) -> Rules:
    """Return the rules with counted names written out: excluded is each member, and elsewhere one must be named.

    `names` are those of the nodes, counts written out as in `desk-1`; what stands behind a / names a device of a node.

    Raises:
        UsageError: a name is of no node, or of several nodes where one is meant.
    """

    def one(name: str, flag: str) -> str:
        members = _members(name, names, f"{command}, {flag}")
        if len(members) == 1:
            return name
        known = either(members) if len(members) <= _MOST_SHOWN else f"{members[0]} to {members[-1]}"
        raise UsageError(
            f"{command}, {flag}: {quoted(name)} is {len(members)} nodes; expected one of them. Write {known}."
        )

    return replace(
        rules,
        pins=tuple((block, one(name, "--pin")) for block, name in rules.pins),
        first=None if rules.first is None else one(rules.first, "--first"),
        last=None if rules.last is None else one(rules.last, "--last"),
        order=tuple(one(name, "--order") for name in rules.order),
        exclude=tuple(member for name in rules.exclude for member in _members(name, names, f"{command}, --exclude")),
    )


def _members(name: str, names: Collection[str], where: str) -> tuple[str, ...]:
    """Return the nodes that a name stands for; a device stands for itself."""
    if name in names or name.partition("/")[0] in names:
        return (name,)
    numbered = re.compile(rf"{re.escape(name)}-[1-9][0-9]*", re.ASCII)
    members = tuple(known for known in names if numbered.fullmatch(known))
    if members:
        return members
    listed = ", ".join(map(quoted, list(names)[:_MOST_SHOWN])) + (" …" if len(names) > _MOST_SHOWN else "")
    advice = suggestion(name, list(names)) or "Correct the name."
    raise UsageError(f"{where}: no node is called {quoted(name)}; expected one of {listed}. {advice}")

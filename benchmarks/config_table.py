"""What config files say of models: blocks, and the cache of a token or the fact that is missing for it.

    python -m benchmarks.config_table FILE_OR_FOLDER…

Bytes are those of all trunk blocks in 16-bit values: what grows with a token of context, and what one sequence keeps
however long it is (windows that are full, recurrent state).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tensors.architecture import MissingFact, from_config
from tensors.cache import block_caches, cache_type, generic_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

_F16 = cache_type("f16")
_LONG_TOKENS = 2**20


def row(path: Path) -> str:
    """Return one line of the table."""
    architecture = from_config(json.loads(path.read_text(encoding="utf-8")), {})
    blocks = f"{architecture.trunk_blocks}+{architecture.nextn_blocks}"
    start = f"{path.stem[:60]:60} {architecture.family[:22]:22} {blocks:>6}"
    if isinstance(architecture.cache, MissingFact):
        return f"{start} {architecture.cache.problem}"
    caches = block_caches(architecture.cache, architecture.trunk_blocks, generic_settings(_LONG_TOKENS, 1, _F16, _F16))
    growing, fixed = sum(cache.bytes_per_token for cache in caches), sum(cache.fixed_bytes for cache in caches)
    kinds = ", ".join(dict.fromkeys(str(term.kind) for term in architecture.cache)) or "none"
    return f"{start} {growing:>12,} {fixed:>14,}  {kinds}"


def _paths(names: list[str]) -> Iterator[Path]:
    for name in names:
        path = Path(name)
        yield from sorted(path.glob("*.json")) if path.is_dir() else (path,)


def main() -> None:
    """Print the table."""
    print(f"{'config':60} {'family':22} {'blocks':>6} {'bytes/token':>12} {'bytes/sequence':>14}  kinds")
    for path in _paths(sys.argv[1:]):
        print(row(path))


if __name__ == "__main__":
    main()

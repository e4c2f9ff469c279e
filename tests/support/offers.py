"""Models offered for options, read once: a small dense one, a mixture in parts, and an original checkpoint."""

from __future__ import annotations

import tempfile
from functools import lru_cache
from typing import TYPE_CHECKING

from solver.options.models import offered
from tensors import read
from tensors.synthetic import write

if TYPE_CHECKING:
    from solver.options.models import Offered

__all__ = ["offer"]


@lru_cache(maxsize=16)
def offer(name: str, context_tokens: int = 8192) -> Offered:
    """Return one of the built-in models as what is offered."""
    with tempfile.TemporaryDirectory() as folder:
        return offered(read(write(name, folder)[0]), context_tokens, None, None)

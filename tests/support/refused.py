"""How a location is refused, and what is said where another try may help."""

from __future__ import annotations

import pytest

import tensors
from tensors.errors import SourceError

__all__ = ["LATER", "refusal"]
LATER = "expected an answer. Check the connection, or try again later."


def refusal(location: str) -> str:
    """Return the message that a location is refused with."""
    with pytest.raises(SourceError) as caught:
        tensors.read(location)
    return str(caught.value)

"""The version of this distribution, read by the build without importing anything."""

from __future__ import annotations

__all__ = ["VERSION"]

VERSION = "0.1.0"

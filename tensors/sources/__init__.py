"""Where bytes come from: ranges of a file, and the other files beside it.

Parsers see the two protocols alone, so that every kind of place counts and bounds its reads in one spot.
"""

from __future__ import annotations

from tensors.sources.local import FileSource, LocalFolder
from tensors.sources.local import open_local as open_location
from tensors.sources.memory import BytesSource
from tensors.sources.protocols import Folder, Source, is_plain

__all__ = ["BytesSource", "FileSource", "Folder", "LocalFolder", "Source", "is_plain", "open_location"]

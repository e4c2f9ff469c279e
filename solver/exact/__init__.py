"""Exact searches: longest prefixes of items on ever more nodes, and the canonical answer among equals."""

"""Benchmarks: run from the repository with `python -m benchmarks.NAME`; each prints a table and its method."""

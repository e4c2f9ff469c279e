"""Exact search over machines of several devices: runs within a machine, then chains of machines."""

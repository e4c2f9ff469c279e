"""Engines: each turns an inventory, a cluster and a workload into a problem in integers."""

"""Provers of throughput with replicated stages and parallel chains."""

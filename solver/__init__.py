"""Places contiguous runs of a model's blocks on unlike nodes, with proofs."""

"""Tensor sizes, architecture and cache terms of a model, from the headers of its files and never from the weights."""

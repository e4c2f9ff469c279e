"""A second method for replicas and chains: every set of few nodes, without kinds, paces or teams of the other one."""

"""A cluster that was observed: its nodes, running and waiting work as the beginning of a simulation."""

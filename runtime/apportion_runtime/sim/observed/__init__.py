"""An observed cluster: its nodes and its running and pending work as the initial state of a simulation."""

"""Traces of real clusters, converted to nodes and workloads of the simulated cluster; rules in docs/traces.md.

Entry points: `openb.read_openb`, `sacct.read_sacct`, `dlrm.read_dlrm`, `pai.read_pai`, `philly.read_philly`,
`helios.read_helios` and `watch.read_watch`; optionally `transforms` to change the load; then `scenario.scenario_of`, and
`density.with_density_resources` once the scenario has its nodes. No function here reads a file: callers pass each text
with its name for messages.
"""

"""Traces of real clusters, converted to nodes and workloads of the simulated cluster; rules in docs/traces.md.

Entry points: `openb.read_openb` and `sacct.read_sacct`; optionally `transforms` to change the load; then
`scenario.scenario_of`. No function here reads a file: callers pass each text with its name for messages.
"""

"""Recorded loads of real clusters, as nodes and workloads for the simulated cluster; docs/traces.md has the rules.

Entry points: `openb.read_openb`, `sacct.read_sacct`; then `transforms`, if the load is to be another than the recorded
one; then `scenario.scenario_of`. Nothing here reads a file: texts come in with the name that messages give them.
"""

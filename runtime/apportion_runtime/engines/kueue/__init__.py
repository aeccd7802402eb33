"""Kueue: whole workloads are admitted against quotas that are borrowed and lent in a tree of cohorts.

Read `scheduling_cycle.py` first, one scheduling cycle; `engine.py` carries out its decisions.
The version is v0.18.3; docs/simulation.md lists what is not simulated.
"""

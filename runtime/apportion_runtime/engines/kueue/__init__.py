"""Kueue: whole workloads are admitted against quotas that are borrowed and lent in a tree of cohorts.

`scheduling_cycle.py` is one scheduling cycle and reads best first; `engine.py` says what is done about its decisions.
Read at v0.18.3; docs/simulation.md says what is left out.
"""

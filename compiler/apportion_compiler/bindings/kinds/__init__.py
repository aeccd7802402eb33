"""Kinds of workloads, one per module: the template before an engine's binding changes it."""

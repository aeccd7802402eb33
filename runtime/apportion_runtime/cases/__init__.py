"""Clusters in the format of the engine's own decision tables: read, run for some rounds, and told.

The format is described in tests/conformance/kai/README.md.
"""

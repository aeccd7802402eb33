"""Cases in the format of the engine's own decision tables: parsed, run for some rounds, and reported.

The format is described in tests/conformance/kai/README.md.
"""

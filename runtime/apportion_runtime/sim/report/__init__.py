"""The report of a simulation: one object (`report.py`) and its output formats."""

"""Findings (`diagnostic`), and one renderer for each output format."""

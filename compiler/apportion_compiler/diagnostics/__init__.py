"""Findings: what they are (`diagnostic`), and one renderer for each form in which people read them."""

"""Snapshots as text: the documented snapshot format, and objects as printed by kubectl."""

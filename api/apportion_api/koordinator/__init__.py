"""Koordinator's objects. Source: apis/ at a7a1b76b (v1.8.0-61)."""

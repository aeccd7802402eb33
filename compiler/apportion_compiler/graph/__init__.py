"""Declarations → PolicyGraph: first the bare declarations (which may be faulty), then a sound tree with values."""

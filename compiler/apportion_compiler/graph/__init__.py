"""Declarations → PolicyGraph: the flattened declarations (which may be invalid), and the valid tree with its values."""

"""Writes an imported policy as typed Python. Pure: returns texts by file name."""

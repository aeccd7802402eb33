"""What the engines share: an engine without decisions of its own to derive from, gangs, and rounding of divisions."""

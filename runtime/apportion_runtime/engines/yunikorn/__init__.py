"""Apache YuniKorn: recognised, and not simulated."""

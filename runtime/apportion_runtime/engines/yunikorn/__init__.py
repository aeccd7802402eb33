"""Apache YuniKorn: recognised, but not simulated."""

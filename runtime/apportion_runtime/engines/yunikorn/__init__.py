"""Apache YuniKorn: its core decides, its shim reads pods."""

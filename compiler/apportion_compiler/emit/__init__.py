"""Manifests → files: `tree` determines names and bytes, `disk` compares and writes."""

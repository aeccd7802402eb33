"""Manifests → files: `tree` decides names and bytes, `disk` compares and writes."""

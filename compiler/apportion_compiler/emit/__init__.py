"""Manifests → files: `tree` determines names and bytes, `tree_files` compares and writes."""

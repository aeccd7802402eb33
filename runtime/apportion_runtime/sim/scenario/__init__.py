"""Scenarios: `format.py` is what one holds, `reader.py` reads it from YAML; workloads in short form become manifests."""

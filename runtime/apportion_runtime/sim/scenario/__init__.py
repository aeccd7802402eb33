"""Scenarios: `format.py` has the records, `reader.py` reads YAML; workloads in short form become manifests."""

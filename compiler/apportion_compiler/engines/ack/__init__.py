"""Alibaba Cloud ACK: `emit` writes its objects, `rules` validates them, `reader` reads them back, `binding` places workloads."""

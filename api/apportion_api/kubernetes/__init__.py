"""Kubernetes' own objects, and what device plugins and workload operators write on pods and nodes."""

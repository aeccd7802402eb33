"""Plain Kubernetes: no queueing engine, kube-scheduler alone."""

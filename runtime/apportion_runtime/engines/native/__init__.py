"""Plain Kubernetes: kube-scheduler without a queueing engine."""

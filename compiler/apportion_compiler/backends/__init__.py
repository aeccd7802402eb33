"""One module (or folder) for each target: the IR in, Kubernetes objects out, in the order in which to apply them."""

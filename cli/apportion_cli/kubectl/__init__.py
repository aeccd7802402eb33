"""`kubectl apportion`: a plugin of kubectl that answers questions about a cluster with the functions of `apportion`."""

"""YuniKorn: a tree of queues in one ConfigMap, read by a scheduler of its own."""

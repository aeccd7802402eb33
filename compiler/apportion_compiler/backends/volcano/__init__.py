"""Volcano: a tree of queues under the capacity plugin."""

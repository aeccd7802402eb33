"""Shares of a cluster's GPUs before and after a change, with the steps of their division."""

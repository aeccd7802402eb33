"""Quotas that meet stated goals under a load: goals, searched quotas, search, and the result."""

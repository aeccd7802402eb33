"""Volcano's objects and the configuration of its scheduler. Source: volcano-sh/apis and pkg/scheduler/conf at ed72c7c81."""

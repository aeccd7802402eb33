"""Evaluate an unreviewed policy, and return data.

`parent` starts a child process and reads its answer; `child` confines itself and runs the policy. What is trusted
when, and what each layer stops, is in docs/security.md. Nothing that `parent` imports loads pydantic.
"""

"""Evaluate an unreviewed policy, and return data.

`parent` starts a child process and reads its response; `child` confines itself and runs the policy. docs/security.md
describes the trust model and the layers. `parent` does not import pydantic, directly or indirectly.
"""

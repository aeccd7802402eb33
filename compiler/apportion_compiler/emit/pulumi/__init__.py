"""Compiled objects as resources of a Pulumi stack. The one place of the compiler that knows Pulumi.

`program.py` is the whole program of a stack, and the place to begin. Names come from permanent ids, so that a team
that is renamed or moves keeps its resources; what an object depends on comes from `apportion_compiler.rollout`.
"""

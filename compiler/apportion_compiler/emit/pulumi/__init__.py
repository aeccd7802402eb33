"""Compiled objects as resources of a Pulumi stack: the only package of the compiler that uses Pulumi.

Start with `program.py`, the program of a stack. Names derive from permanent ids, so that a renamed or moved team keeps
its resources; dependencies of objects come from `apportion_compiler.rollout`.
"""

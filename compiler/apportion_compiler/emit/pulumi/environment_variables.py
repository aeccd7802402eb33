"""Variables by which `apportion up` speaks with a stack's program."""

from __future__ import annotations

STAGED = "APPORTION_STAGED"
"""Apply the first update of several instead of stopping."""
FORMER = "APPORTION_FORMER"
"""A file with what was applied, by the stack's state, where the stack's own output may not know."""
UPSERT = "PULUMI_K8S_UPSERT_EXISTING_OBJECTS"
"""Pulumi's own: an object that is to be made and is there already is taken over."""
POLICY = "APPORTION_STACK_POLICY"
"""The policy to read in place of the one that the stack's configuration names: a preview of somebody's change."""

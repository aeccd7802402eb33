"""Environment variables by which `apportion up` controls a stack's program."""

from __future__ import annotations

STAGED = "APPORTION_STAGED"
"""Apply the first of several updates instead of stopping."""
FORMER = "APPORTION_FORMER"
"""A file with the applied objects according to the stack's state, if the stack's output may be out of date."""
UPSERT = "PULUMI_K8S_UPSERT_EXISTING_OBJECTS"
"""Pulumi's own: an existing object is adopted instead of created."""
POLICY = "APPORTION_STACK_POLICY"
"""The policy to use instead of the configured one, for the preview of a change."""

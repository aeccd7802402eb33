"""The scheduler core: a snapshot in, decisions out. Pure functions and records over arrays; no files, clock or chance.

The rules are those of KAI Scheduler v0.17.0-9 (commit d5bc503a); names are its own: snapshot, session, action, plugin,
statement.
"""

"""Why a cycle decided as it did.

`fit_errors` holds what the engine itself says of a job that it could not place, word for word; it is written while the
cycle runs (`core.reasons`).
"""

"""Engine-neutral records: all that a backend sees of a policy on one cluster."""

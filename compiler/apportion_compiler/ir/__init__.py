"""Engine-neutral records: the input of backends, for a policy on one cluster."""

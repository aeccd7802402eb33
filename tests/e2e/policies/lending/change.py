"""Which state of the organisation the policy describes: a key of `policy.GUARANTEES`."""

STATE = "first"

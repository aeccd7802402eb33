"""The state of the organisation in the policy: a key of `policy.GUARANTEES`."""

STATE = "first"

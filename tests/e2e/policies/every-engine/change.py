"""The state of the organisation in the policy: a key of `organisation.ORGANISATIONS`."""

STATE = "first"

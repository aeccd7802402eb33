"""Which state of the organisation the policy describes: a key of `organisation.ORGANISATIONS`."""

STATE = "first"

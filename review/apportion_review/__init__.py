"""Review of a policy change: what differs between two policies, in the author's words."""

"""Review of a policy change: the differences between two policies, in the author's terms."""

"""How other engines divide a cluster among queues, one module each, where their rule is not KAI's.

KAI's own division is `core.division`; what an engine shares with it or with another stands in `proportions`.
Nothing here decides on a pod: these are the numbers that an engine's decisions start from.
"""

"""KAI Scheduler's objects. Source: pkg/apis at d5bc503a (v0.17.0-9)."""

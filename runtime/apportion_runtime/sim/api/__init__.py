"""The API server of a simulated cluster: objects, admission, time, events, and the shared cluster state."""

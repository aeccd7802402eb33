"""The API server of a simulated cluster: its objects, admission, time and events, and the state that its parts share."""

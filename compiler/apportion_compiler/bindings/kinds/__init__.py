"""One module for each kind of workload: its template, before an engine writes its own into it."""

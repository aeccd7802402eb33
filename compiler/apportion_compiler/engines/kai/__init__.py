"""KAI Scheduler: `emit` writes its objects, `rules` validates them, `reader` reads them back, `binding` places workloads."""

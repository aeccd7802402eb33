"""KAI Scheduler: `engine.py` is what the simulation calls, `scheduling_loop.py` runs the cycle of `core` on its objects."""

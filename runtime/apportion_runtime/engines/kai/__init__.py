"""KAI Scheduler: `engine.py` is the interface to the simulation, `scheduling_loop.py` runs the cycle of `core` on its objects."""

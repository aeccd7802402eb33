"""The runtime package: a scheduler core that decides as KAI Scheduler does, with a simulator and a live scheduler."""

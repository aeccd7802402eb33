"""The packaged runtime: a scheduler core that decides as KAI Scheduler does, and what runs around it."""

"""Shared by the engines: a base engine without a scheduler, gangs, and proportional division."""

"""The command `apportion`: arguments, exit codes and the only prints. Start at `main.py`; one verb, one file."""

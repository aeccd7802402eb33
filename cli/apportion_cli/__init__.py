"""The command `apportion`: arguments, exit codes and all printing. Start at `main.py`; one file per command."""

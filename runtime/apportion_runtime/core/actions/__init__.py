"""What a cycle does, one module for each action."""

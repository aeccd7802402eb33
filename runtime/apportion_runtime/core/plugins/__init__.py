"""The rules that a session asks: one module for each plugin of the engine that is more than a comparison."""

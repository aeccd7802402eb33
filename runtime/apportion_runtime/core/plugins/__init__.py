"""The plugins of a session: one module for each plugin of the engine that is more than a comparison."""

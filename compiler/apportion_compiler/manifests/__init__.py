"""Raw manifests from any source: parsed with line numbers, and evaluated by the rules of their engines."""

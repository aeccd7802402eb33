"""The organisation tree as a report, rendered in the terminal, as Mermaid and as SVG with the same numbers."""

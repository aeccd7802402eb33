"""The organisation as a picture: one report, drawn in the terminal, as Mermaid and as SVG with the same numbers."""

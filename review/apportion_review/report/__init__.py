"""Output formats of a review: text, Markdown comment, HTML page and JSON document."""

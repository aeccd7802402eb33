"""Forms of a review: text, Markdown comment, page and JSON document."""

"""From what a reader read to the typed Python that a team goes on with. Pure: texts out, by file name."""

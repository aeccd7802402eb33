"""What a simulation comes to: one object (`report.py`), and the forms in which people and programs read it."""

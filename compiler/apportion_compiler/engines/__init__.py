"""One folder for each engine with all that Apportion knows of it; `registry.py` lists the parts of a folder."""

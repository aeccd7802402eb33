"""The engines, one package each; `registry.py` lists the modules of a package."""

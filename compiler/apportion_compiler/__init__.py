"""The compiler: takes a policy, returns manifests and diagnostics. It uses no network, cluster or clock; see `compile.py`."""

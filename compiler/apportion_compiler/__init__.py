"""Policy in; manifests and diagnostics out. No network, no cluster, no clock. Read `compile.py` first."""

"""YuniKorn's configuration. Source: core at be3bb487 and k8shim at 23b6b47f."""

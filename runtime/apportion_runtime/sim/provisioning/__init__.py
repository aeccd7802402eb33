"""Queued provisioning: ProvisioningRequests, the autoscaler that answers them, and what the provider has to give.

`offers.py` is what a scenario says of the provider, `request_checks.py` whether a request can be met at all, `market.py` whether
it can be met now, and `autoscaler.py` acts on the cluster by them. Whoever made a request, Kueue or somebody by hand, it
is answered alike.

The conditions are those of cluster-autoscaler's API (autoscaling.x-k8s.io/v1); what a provider does behind them is not
public, and follows what seed document 003 and GKE's documentation say of the Dynamic Workload Scheduler.
"""

"""Queued provisioning: ProvisioningRequests, the autoscaler that handles them, and the provider's capacity.

`queued_pools.py` is the provider's capacity as defined in a scenario, `request_checks.py` decides whether a request can be met
at all, `zone_capacity.py` whether it can be met now, and `autoscaler.py` acts on the cluster. Requests created by Kueue
and by users are handled alike.

The conditions are those of cluster-autoscaler's API (autoscaling.x-k8s.io/v1); the provider's implementation is not
public; this model follows seed document 003 and GKE's documentation of the Dynamic Workload Scheduler.
"""

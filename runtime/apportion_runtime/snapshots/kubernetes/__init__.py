"""The objects of a cluster as the engine's cache reads them.

Source: pkg/scheduler/cache/cluster_info, api/node_info, api/pod_info, api/podgroup_info, api/queue_info at d5bc503a.
"""

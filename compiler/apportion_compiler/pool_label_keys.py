"""Keys of the labels by which nodes of a pool are told from others: what backends write, and checks keep authors from.

Keys alone; which of them the nodes of a pool carry, and their values, is in `backends/pool_labels.py`.
"""

from __future__ import annotations

POOL_LABEL = "apportion.dev/node-pool"
"""Every node of every pool carries it: flavors, shards and affinities select by it."""

GPU_MODEL_LABEL = "apportion.dev/gpu-model"
"""The policy's word for the GPU model, on nodes that have GPUs: it is the same whichever provider the nodes come from."""

SHARD_LABEL = "kai.scheduler/node-pool"
"""KAI's: the scheduling shard of a node. Source: pkg/common/constants/constants.go at d5bc503a."""

NODE_GROUP_LABEL = "volcano.sh/nodegroup-name"
"""Volcano's: the node group that `affinity.nodeGroupAffinity` of a queue names, with the plugin `nodegroup`.

Source: pkg/scheduler/plugins/nodegroup/nodegroup.go, NodeGroupNameKey.
"""

GKE_ACCELERATOR_LABEL = "cloud.google.com/gke-accelerator"
"""GKE's own, on nodes with GPUs; the only label by which a pool can be meant that GKE makes for a request.

Source: cloud.google.com/kubernetes-engine/docs/how-to/node-auto-provisioning (GPUs).
"""

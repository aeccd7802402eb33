#!/bin/sh
# Make the node pools of a cluster, or bring them to the policy: sh apply.sh (needs aliyun and jq)
# The type of a pool and its Lingjun group are fixed when it is created.
# Source: policy.py:55
set -eu
: "${CLUSTER_ID:?set it to the id of the cluster}"
: "${VSWITCH_IDS:?set it to the vSwitches of the machines, a JSON list of ids}"
: "${EFLO_NODE_GROUP:?set it to the Lingjun group, a JSON object of cluster_id and group_id}"

pools=$(aliyun cs GET "/clusters/$CLUSTER_ID/nodepools")

# Node pool l20
# Source: policy.py:28
body=$(jq -cn --argjson vswitches "$VSWITCH_IDS" --argjson body '{"nodepool_info":{"name":"l20","type":"ess"},"scaling_group":{"spot_strategy":"SpotAsPriceGo","instance_types":["ecs.gn8is.4xlarge"]},"auto_scaling":{"enable":true,"min_instances":0,"max_instances":8,"type":"spot"},"kubernetes_config":{"labels":[{"key":"apportion.dev/node-pool","value":"l20"},{"key":"apportion.dev/gpu-model","value":"l20"}],"taints":[{"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"},{"key":"spot","value":"","effect":"PreferNoSchedule"}]},"management":{"enable":true,"auto_repair":true,"auto_upgrade":false}}' '$body | .scaling_group.vswitch_ids = $vswitches')
id=$(printf '%s' "$pools" | jq -r --arg name l20 '.nodepools[] | select(.nodepool_info.name == $name) | .nodepool_info.nodepool_id')
if [ -n "$id" ]; then
  aliyun cs PUT "/clusters/$CLUSTER_ID/nodepools/$id" --body "$body"
else
  aliyun cs POST "/clusters/$CLUSTER_ID/nodepools" --body "$body"
fi

# Node pool lingjun
# Source: policy.py:37
body=$(jq -cn --argjson vswitches "$VSWITCH_IDS" --argjson eflo "$EFLO_NODE_GROUP" --argjson body '{"nodepool_info":{"name":"lingjun","type":"lingjun"},"scaling_group":{"spot_strategy":"NoSpot","instance_types":["efg2.GN9A.ic"],"private_pool_options":{"match_criteria":"Target","id":"eap-1"}},"auto_scaling":{"enable":true,"min_instances":1,"max_instances":4,"type":"gpu"},"kubernetes_config":{"labels":[{"key":"apportion.dev/node-pool","value":"lingjun"},{"key":"apportion.dev/gpu-model","value":"h20"}],"taints":[{"key":"nvidia.com/gpu","value":"present","effect":"NoSchedule"}]},"management":{"enable":false,"auto_repair":false,"auto_upgrade":false}}' '$body | .scaling_group.vswitch_ids = $vswitches | .eflo_node_group = $eflo')
id=$(printf '%s' "$pools" | jq -r --arg name lingjun '.nodepools[] | select(.nodepool_info.name == $name) | .nodepool_info.nodepool_id')
if [ -n "$id" ]; then
  aliyun cs PUT "/clusters/$CLUSTER_ID/nodepools/$id" --body "$body"
else
  aliyun cs POST "/clusters/$CLUSTER_ID/nodepools" --body "$body"
fi

# Node pool ordinary
# Source: policy.py:20
body=$(jq -cn --argjson body '{"nodepool_info":{"name":"ordinary","type":"ess"},"scaling_group":{"spot_strategy":"NoSpot","instance_types":["ecs.g8i.4xlarge"],"vswitch_ids":["vsw-1","vsw-2"],"deploymentset_id":"ds-1"},"auto_scaling":{"enable":true,"min_instances":2,"max_instances":8,"type":"cpu"},"kubernetes_config":{"labels":[{"key":"acme.example/tier","value":"gold"},{"key":"apportion.dev/node-pool","value":"ordinary"}],"taints":[]},"management":{"enable":true,"auto_repair":true,"auto_upgrade":true}}' '$body')
id=$(printf '%s' "$pools" | jq -r --arg name ordinary '.nodepools[] | select(.nodepool_info.name == $name) | .nodepool_info.nodepool_id')
if [ -n "$id" ]; then
  aliyun cs PUT "/clusters/$CLUSTER_ID/nodepools/$id" --body "$body"
else
  aliyun cs POST "/clusters/$CLUSTER_ID/nodepools" --body "$body"
fi

#!/bin/sh
# Make the node groups of a cluster, or bring them to the policy: sh apply.sh (needs aws and jq)
# Instance type, image type, capacity type and subnets are fixed when a managed group is created, and stay.
# Source: policy.py:52
set -eu
[ -n "${CLUSTER:-}" ] || CLUSTER=eks-us
: "${NODE_ROLE_ARN:?set it to the role of the nodes}"
: "${SUBNETS:?set it to the subnets of the nodes, with a comma between two}"
: "${LAUNCH_DATA:?set it to what launch templates of self-scaled nodes add, a JSON object of ImageId, UserData and so on}"

# Node pool block
# Source: policy.py:18
if aws ec2 describe-launch-templates --launch-template-names=block-template >/dev/null 2>&1; then
  aws ec2 create-launch-template-version \
    --launch-template-name=block-template \
    '--launch-template-data={"InstanceType":"p5.48xlarge","InstanceMarketOptions":{"MarketType":"capacity-block"},"CapacityReservationSpecification":{"CapacityReservationTarget":{"CapacityReservationId":"cr-0123456789abcdef0"}}}'
else
  aws ec2 create-launch-template \
    --launch-template-name=block-template \
    '--launch-template-data={"InstanceType":"p5.48xlarge","InstanceMarketOptions":{"MarketType":"capacity-block"},"CapacityReservationSpecification":{"CapacityReservationTarget":{"CapacityReservationId":"cr-0123456789abcdef0"}}}'
fi
if aws eks describe-nodegroup --cluster-name="$CLUSTER" --nodegroup-name=block >/dev/null 2>&1; then
  aws eks update-nodegroup-config \
    --cluster-name="$CLUSTER" \
    --nodegroup-name=block \
    '--scaling-config={"minSize":0,"maxSize":4}' \
    '--labels={"addOrUpdateLabels":{"apportion.dev/node-pool":"block","apportion.dev/gpu-model":"h100","kai.scheduler/node-pool":"h100"}}' \
    '--taints={"addOrUpdateTaints":[{"key":"nvidia.com/gpu","value":"present","effect":"NO_SCHEDULE"}]}' \
    '--node-repair-config={"enabled":false}'
else
  aws eks create-nodegroup \
    --cluster-name="$CLUSTER" \
    --nodegroup-name=block \
    --node-role=arn:aws:iam::123456789012:role/nodes \
    '--subnets=["subnet-1"]' \
    '--scaling-config={"minSize":0,"maxSize":4,"desiredSize":0}' \
    --capacity-type=CAPACITY_BLOCK \
    '--labels={"apportion.dev/node-pool":"block","apportion.dev/gpu-model":"h100","kai.scheduler/node-pool":"h100"}' \
    '--node-repair-config={"enabled":false}' \
    --ami-type=AL2023_x86_64_NVIDIA \
    '--launch-template={"name":"block-template","version":"$Latest"}' \
    '--taints=[{"key":"nvidia.com/gpu","value":"present","effect":"NO_SCHEDULE"}]'
fi

# Node pool self-scaled
# Source: policy.py:27
# UserData joins the node to the cluster with the kubelet flags: --node-labels=apportion.dev/gpu-model=l4,apportion.dev/node-pool=self-scaled,kai.scheduler/node-pool=l4; --register-with-taints=nvidia.com/gpu=present:NoSchedule
data=$(jq -cn --argjson made '{"InstanceType":"g6.12xlarge","InstanceMarketOptions":{"MarketType":"spot"}}' --argjson given "$LAUNCH_DATA" '$made + $given')
if aws ec2 describe-launch-templates --launch-template-names=self-scaled-template >/dev/null 2>&1; then
  aws ec2 create-launch-template-version \
    --launch-template-name=self-scaled-template \
    --launch-template-data="$data"
else
  aws ec2 create-launch-template \
    --launch-template-name=self-scaled-template \
    --launch-template-data="$data"
fi
if aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names=self-scaled --query 'AutoScalingGroups[].AutoScalingGroupName' --output text | grep -q .; then
  aws autoscaling update-auto-scaling-group \
    --auto-scaling-group-name=self-scaled \
    '--launch-template=LaunchTemplateName=self-scaled-template,Version=$Latest' \
    --min-size=0 \
    --max-size=6 \
    --vpc-zone-identifier=subnet-1,subnet-2
else
  aws autoscaling create-auto-scaling-group \
    --auto-scaling-group-name=self-scaled \
    '--launch-template=LaunchTemplateName=self-scaled-template,Version=$Latest' \
    --min-size=0 \
    --max-size=6 \
    --vpc-zone-identifier=subnet-1,subnet-2
fi
aws autoscaling create-or-update-tags \
  '--tags=[{"ResourceId":"self-scaled","ResourceType":"auto-scaling-group","Key":"k8s.io/cluster-autoscaler/enabled","Value":"true","PropagateAtLaunch":true},{"ResourceId":"self-scaled","ResourceType":"auto-scaling-group","Key":"k8s.io/cluster-autoscaler/eks-us","Value":"owned","PropagateAtLaunch":true},{"ResourceId":"self-scaled","ResourceType":"auto-scaling-group","Key":"kubernetes.io/cluster/eks-us","Value":"owned","PropagateAtLaunch":true},{"ResourceId":"self-scaled","ResourceType":"auto-scaling-group","Key":"k8s.io/cluster-autoscaler/node-template/label/apportion.dev/node-pool","Value":"self-scaled","PropagateAtLaunch":true},{"ResourceId":"self-scaled","ResourceType":"auto-scaling-group","Key":"k8s.io/cluster-autoscaler/node-template/label/apportion.dev/gpu-model","Value":"l4","PropagateAtLaunch":true},{"ResourceId":"self-scaled","ResourceType":"auto-scaling-group","Key":"k8s.io/cluster-autoscaler/node-template/label/kai.scheduler/node-pool","Value":"l4","PropagateAtLaunch":true},{"ResourceId":"self-scaled","ResourceType":"auto-scaling-group","Key":"k8s.io/cluster-autoscaler/node-template/taint/nvidia.com/gpu","Value":"present:NoSchedule","PropagateAtLaunch":true},{"ResourceId":"self-scaled","ResourceType":"auto-scaling-group","Key":"k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu","Value":"4","PropagateAtLaunch":true}]'

# Node pool servers
# Source: policy.py:36
subnets=$(printf '%s' "$SUBNETS" | jq -Rc 'split(",")')
if aws eks describe-nodegroup --cluster-name="$CLUSTER" --nodegroup-name=servers >/dev/null 2>&1; then
  aws eks update-nodegroup-config \
    --cluster-name="$CLUSTER" \
    --nodegroup-name=servers \
    '--scaling-config={"minSize":2,"maxSize":8}' \
    '--labels={"addOrUpdateLabels":{"apportion.dev/node-pool":"servers"}}' \
    '--node-repair-config={"enabled":true}'
else
  aws eks create-nodegroup \
    --cluster-name="$CLUSTER" \
    --nodegroup-name=servers \
    --node-role="$NODE_ROLE_ARN" \
    --subnets="$subnets" \
    '--scaling-config={"minSize":2,"maxSize":8,"desiredSize":2}' \
    --capacity-type=SPOT \
    '--labels={"apportion.dev/node-pool":"servers"}' \
    '--node-repair-config={"enabled":true}' \
    --ami-type=BOTTLEROCKET_x86_64 \
    '--instance-types=["m7i.4xlarge"]'
fi

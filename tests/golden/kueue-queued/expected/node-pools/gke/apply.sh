#!/bin/sh
# Make the node pools of a cluster, or bring them to the policy: sh apply.sh
# Machine type, accelerators, spot, reservation affinity and placement are fixed when a pool is created, and stay.
# Source: policy.py:85
set -eu
[ -n "${CLUSTER:-}" ] || CLUSTER=main
: "${LOCATION:?set it to the region or zone of the cluster}"
: "${PROJECT:?set it to the project of the cluster}"

# Node pool ordinary
# Source: policy.py:61
if gcloud container node-pools describe ordinary \
  --cluster="$CLUSTER" \
  --location="$LOCATION" \
  --project="$PROJECT" >/dev/null 2>&1; then
  gcloud container node-pools update ordinary \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --enable-autorepair \
    --enable-autoupgrade
  gcloud container node-pools update ordinary \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --enable-autoscaling \
    --total-min-nodes=1 \
    --total-max-nodes=10 \
    --location-policy=BALANCED
  gcloud container node-pools update ordinary \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --node-labels=apportion.dev/node-pool=ordinary
else
  gcloud container node-pools create ordinary \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --machine-type=n2-standard-32 \
    --num-nodes=0 \
    --enable-autoscaling \
    --total-min-nodes=1 \
    --total-max-nodes=10 \
    --location-policy=BALANCED \
    --enable-autorepair \
    --enable-autoupgrade \
    --reservation-affinity=any \
    --node-labels=apportion.dev/node-pool=ordinary
fi

# Node pool queued
# Source: policy.py:43
if gcloud container node-pools describe queued \
  --cluster="$CLUSTER" \
  --location="$LOCATION" \
  --project="$PROJECT" >/dev/null 2>&1; then
  gcloud container node-pools update queued \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --no-enable-autorepair \
    --no-enable-autoupgrade
  gcloud container node-pools update queued \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --enable-autoscaling \
    --total-min-nodes=0 \
    --total-max-nodes=64 \
    --location-policy=ANY
  gcloud container node-pools update queued \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --node-labels=apportion.dev/gpu-model=h100,apportion.dev/node-pool=queued
  if [ "$(gcloud container node-pools describe queued \
  --cluster="$CLUSTER" \
  --location="$LOCATION" \
  --project="$PROJECT" \
  '--format=value(queuedProvisioning.enabled)')" != True ]; then
    gcloud beta container node-pools update queued \
      --cluster="$CLUSTER" \
      --location="$LOCATION" \
      --project="$PROJECT" \
      --enable-queued-provisioning
  fi
else
  gcloud beta container node-pools create queued \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --enable-queued-provisioning \
    --accelerator=type=nvidia-h100-80gb,count=8,gpu-driver-version=default \
    --machine-type=a3-highgpu-8g \
    --num-nodes=0 \
    --enable-autoscaling \
    --total-min-nodes=0 \
    --total-max-nodes=64 \
    --location-policy=ANY \
    --no-enable-autorepair \
    --no-enable-autoupgrade \
    --reservation-affinity=none \
    --node-labels=apportion.dev/gpu-model=h100,apportion.dev/node-pool=queued \
    --node-taints=nvidia.com/gpu=present:NoSchedule
fi

# Node pool reserved
# Source: policy.py:32
if gcloud container node-pools describe reserved \
  --cluster="$CLUSTER" \
  --location="$LOCATION" \
  --project="$PROJECT" >/dev/null 2>&1; then
  gcloud container node-pools update reserved \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --enable-autorepair \
    --enable-autoupgrade
  gcloud container node-pools update reserved \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --enable-autoscaling \
    --total-min-nodes=4 \
    --total-max-nodes=4 \
    --location-policy=BALANCED
  gcloud container node-pools update reserved \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --node-labels=apportion.dev/gpu-model=h100,apportion.dev/node-pool=reserved
  gcloud container node-pools update reserved \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --node-taints=nvidia.com/gpu=present:NoSchedule
else
  gcloud container node-pools create reserved \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --accelerator=type=nvidia-h100-80gb,count=8,gpu-driver-version=default \
    --machine-type=a3-highgpu-8g \
    --num-nodes=0 \
    --enable-autoscaling \
    --total-min-nodes=4 \
    --total-max-nodes=4 \
    --location-policy=BALANCED \
    --enable-autorepair \
    --enable-autoupgrade \
    --reservation-affinity=any \
    --node-labels=apportion.dev/gpu-model=h100,apportion.dev/node-pool=reserved \
    --node-taints=nvidia.com/gpu=present:NoSchedule
fi

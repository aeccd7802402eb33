#!/bin/sh
# Make the node pools of a cluster, or bring them to the policy: sh apply.sh
# Machine type, accelerators, spot, reservation affinity and placement are fixed when a pool is created, and stay.
# Source: policy.py:100
set -eu
[ -n "${CLUSTER:-}" ] || CLUSTER=gke-eu
: "${LOCATION:?set it to the region or zone of the cluster}"
: "${PROJECT:?set it to the project of the cluster}"

# Node pool a100-mig
# Source: policy.py:78
if gcloud container node-pools describe a100-mig \
  --cluster="$CLUSTER" \
  --location="$LOCATION" \
  --project="$PROJECT" >/dev/null 2>&1; then
  gcloud container node-pools update a100-mig \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --enable-autorepair \
    --enable-autoupgrade
  gcloud container node-pools update a100-mig \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --node-locations=europe-west4-b
  gcloud container node-pools update a100-mig \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --node-labels=apportion.dev/gpu-model=a100,apportion.dev/node-pool=a100-mig
  gcloud container node-pools update a100-mig \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --node-taints=nvidia.com/gpu=present:NoSchedule
else
  gcloud container node-pools create a100-mig \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --accelerator=type=nvidia-tesla-a100,count=1,gpu-driver-version=default,gpu-partition-size=1g.5gb \
    --machine-type=a2-highgpu-1g \
    --num-nodes=2 \
    --node-locations=europe-west4-b \
    --enable-autorepair \
    --enable-autoupgrade \
    --reservation-affinity=any \
    --node-labels=apportion.dev/gpu-model=a100,apportion.dev/node-pool=a100-mig \
    --node-taints=nvidia.com/gpu=present:NoSchedule \
    --placement-type=COMPACT
fi

# Node pool h100-dws
# Source: policy.py:46
if gcloud container node-pools describe h100-dws \
  --cluster="$CLUSTER" \
  --location="$LOCATION" \
  --project="$PROJECT" >/dev/null 2>&1; then
  gcloud container node-pools update h100-dws \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --no-enable-autorepair \
    --no-enable-autoupgrade
  gcloud container node-pools update h100-dws \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --enable-autoscaling \
    --total-min-nodes=0 \
    --total-max-nodes=16 \
    --location-policy=ANY
  gcloud container node-pools update h100-dws \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --node-locations=europe-west4-b,europe-west4-c
  gcloud container node-pools update h100-dws \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --node-labels=apportion.dev/gpu-model=h100,apportion.dev/node-pool=h100-dws
  if [ "$(gcloud container node-pools describe h100-dws \
  --cluster="$CLUSTER" \
  --location="$LOCATION" \
  --project="$PROJECT" \
  '--format=value(queuedProvisioning.enabled)')" != True ]; then
    gcloud beta container node-pools update h100-dws \
      --cluster="$CLUSTER" \
      --location="$LOCATION" \
      --project="$PROJECT" \
      --enable-queued-provisioning
  fi
else
  gcloud beta container node-pools create h100-dws \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --enable-queued-provisioning \
    --accelerator=type=nvidia-h100-80gb,count=8,gpu-driver-version=latest \
    --machine-type=a3-highgpu-8g \
    --num-nodes=0 \
    --enable-autoscaling \
    --total-min-nodes=0 \
    --total-max-nodes=16 \
    --location-policy=ANY \
    --node-locations=europe-west4-b,europe-west4-c \
    --no-enable-autorepair \
    --no-enable-autoupgrade \
    --reservation-affinity=none \
    --node-labels=apportion.dev/gpu-model=h100,apportion.dev/node-pool=h100-dws \
    --node-taints=nvidia.com/gpu=present:NoSchedule \
    --enable-gvnic
fi

# Node pool l4-shared-by-the-notebooks-of-every-department
# Source: policy.py:66
if gcloud container node-pools describe l4-shared-by-the-notebooks-of-e-732765a5 \
  --cluster="$CLUSTER" \
  --location="$LOCATION" \
  --project="$PROJECT" >/dev/null 2>&1; then
  gcloud container node-pools update l4-shared-by-the-notebooks-of-e-732765a5 \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --enable-autorepair \
    --enable-autoupgrade
  gcloud container node-pools update l4-shared-by-the-notebooks-of-e-732765a5 \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --enable-autoscaling \
    --total-min-nodes=3 \
    --total-max-nodes=6 \
    --location-policy=BALANCED
  gcloud container node-pools update l4-shared-by-the-notebooks-of-e-732765a5 \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --node-locations=europe-west4-b,europe-west4-c
  gcloud container node-pools update l4-shared-by-the-notebooks-of-e-732765a5 \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --node-labels=acme.example/tier=notebooks,apportion.dev/gpu-model=l4,apportion.dev/node-pool=l4-shared-by-the-notebooks-of-every-department
else
  gcloud container node-pools create l4-shared-by-the-notebooks-of-e-732765a5 \
    --cluster="$CLUSTER" \
    --location="$LOCATION" \
    --project="$PROJECT" \
    --accelerator=type=nvidia-l4,count=2,gpu-driver-version=default,gpu-sharing-strategy=time-sharing,max-shared-clients-per-gpu=4 \
    --machine-type=g2-standard-24 \
    --num-nodes=2 \
    --enable-autoscaling \
    --total-min-nodes=3 \
    --total-max-nodes=6 \
    --location-policy=BALANCED \
    --node-locations=europe-west4-b,europe-west4-c \
    --enable-autorepair \
    --enable-autoupgrade \
    --reservation-affinity=specific \
    --reservation=notebooks \
    --node-labels=acme.example/tier=notebooks,apportion.dev/gpu-model=l4,apportion.dev/node-pool=l4-shared-by-the-notebooks-of-every-department
fi

# Node pool ordinary
# Source: policy.py:89
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
    --total-max-nodes=9 \
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
    --machine-type=n2-standard-8 \
    --num-nodes=0 \
    --enable-autoscaling \
    --total-min-nodes=1 \
    --total-max-nodes=9 \
    --location-policy=BALANCED \
    --enable-autorepair \
    --enable-autoupgrade \
    --reservation-affinity=any \
    --node-labels=apportion.dev/node-pool=ordinary \
    --spot
fi

# Node auto-provisioning makes the pools for a100-on-request
gcloud container clusters update "$CLUSTER" \
  --location="$LOCATION" \
  --project="$PROJECT" \
  --enable-autoprovisioning \
  --max-cpu=3952 \
  --max-memory=33706 \
  --max-accelerator=type=nvidia-tesla-a100,count=34 \
  --max-accelerator=type=nvidia-h100-80gb,count=128 \
  --max-accelerator=type=nvidia-l4,count=12 \
  --no-enable-autoprovisioning-autoupgrade \
  --no-enable-autoprovisioning-autorepair

# When GKE may disturb nodes
gcloud container clusters update "$CLUSTER" \
  --location="$LOCATION" \
  --project="$PROJECT" \
  --maintenance-window-start=2026-01-03T02:00:00Z \
  --maintenance-window-end=2026-01-03T08:00:00Z \
  '--maintenance-window-recurrence=FREQ=WEEKLY;BYDAY=SA'

gcloud container clusters update "$CLUSTER" \
  --location="$LOCATION" \
  --project="$PROJECT" \
  --add-maintenance-exclusion-name=launch \
  --add-maintenance-exclusion-start=2026-12-01T00:00:00Z \
  --add-maintenance-exclusion-end=2026-12-20T00:00:00Z \
  --add-maintenance-exclusion-scope=no_minor_upgrades ||
{
gcloud container clusters update "$CLUSTER" \
  --location="$LOCATION" \
  --project="$PROJECT" \
  --remove-maintenance-exclusion=launch
gcloud container clusters update "$CLUSTER" \
  --location="$LOCATION" \
  --project="$PROJECT" \
  --add-maintenance-exclusion-name=launch \
  --add-maintenance-exclusion-start=2026-12-01T00:00:00Z \
  --add-maintenance-exclusion-end=2026-12-20T00:00:00Z \
  --add-maintenance-exclusion-scope=no_minor_upgrades
}

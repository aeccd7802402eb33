"""The simulated cluster: a scheduler's own cycle against objects in memory and a clock that jumps to the next event.

Entry point: `cluster.Cluster`. A simulation reaches no cluster and reads no clock; its only randomness is seeded.

| folder | what it holds |
|---|---|
| `scenario/` | the format of scenarios, and how they are read |
| `api/` | the API server: objects, admission, clock, event queue |
| `controllers/` | workloads to pods, CronJobs, autoscaling, Ray |
| `kubelet/` | nodes, GPUs, the pods that run there |
| `provisioning/` | node pools and ProvisioningRequests |
| `report/` | what a simulation shows |
| `traces/` | scenarios from recorded workloads |

The engines are in `apportion_runtime.engines`; `engine.py` is what the simulation calls on each.
"""

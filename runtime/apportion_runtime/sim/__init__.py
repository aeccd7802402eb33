"""The simulated cluster: an engine's scheduling cycles run against objects in memory, with a clock that jumps to the next event.

Entry point: `cluster.Cluster`. A simulation reaches no cluster and reads no clock; its only randomness is seeded.

| folder | content |
|---|---|
| `scenario/` | the scenario format and its reader |
| `api/` | the API server: objects, admission, clock, event queue |
| `controllers/` | pod creation, CronJobs, autoscaling, Ray |
| `kubelet/` | nodes, GPUs, running pods |
| `provisioning/` | node pools and ProvisioningRequests |
| `report/` | the report of a simulation in its formats |
| `traces/` | scenarios from recorded workloads |

The engines are in `apportion_runtime.engines`; `engine.py` defines the protocol between the simulation and an engine.
"""

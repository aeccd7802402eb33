"""ACK: kube-queue releases suspended jobs within the quotas of an ElasticQuotaTree, and the scheduler enforces the
quotas for their pods.

`apportion_runtime.kube_queue` decides which jobs are released; `kube_queue` carries it out in the simulated cluster.
`scheduler`, with its `members` and `victims`, is ACK's scheduler; `engine` is the interface to the simulation.

ACK's scheduler is not open source. This model follows seed document 002 and ACK's documentation (ElasticQuotaTree,
"enable preemptive scheduling").
"""

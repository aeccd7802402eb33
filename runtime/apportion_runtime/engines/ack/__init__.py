"""ACK: kube-queue releases suspended jobs within the quotas of an ElasticQuotaTree, and the scheduler enforces the
quotas for their pods.

Pure parts: `amounts`, `tree`, `quota_accounts`, `job_queue`, `jobs`, `queues`, `victims`, `timestamps`. `kube_queue`
and `scheduler`, with its `members`, act on the cluster; `engine` is the interface to the simulation.

Neither ACK's scheduler nor the hosted kube-queue is open source. This model follows, in this order, seed document 002
and ACK's documentation (ElasticQuotaTree, ack-kube-queue, "enable preemptive scheduling"), and the public sources of
kube-queue (kube-queue/kube-queue at b9bbeb9) and of its successor (koordinator-sh/koord-queue at 298e9a8c).
"""

"""ACK: kube-queue lets suspended jobs go as the quotas of an ElasticQuotaTree allow, and the scheduler keeps their pods to it.

Pure parts first: `amounts`, `tree`, `book`, `job_queue`, `jobs`, `queues`, `victims`, `stamps`. `kube_queue` and
`scheduling`, with its `members`, act on the cluster by them, and `engine` is what the cluster asks.

Neither ACK's scheduler nor the hosted kube-queue is open. What is done here is, in this order, what seed document 002
and ACK's documentation say (ElasticQuotaTree, ack-kube-queue, "enable preemptive scheduling"), and what the public
sources of kube-queue (kube-queue/kube-queue at b9bbeb9) and of its successor (koordinator-sh/koord-queue at 298e9a8c) do.
"""

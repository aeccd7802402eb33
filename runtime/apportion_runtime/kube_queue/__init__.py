"""kube-queue's decisions: which suspended jobs are dequeued within the quotas of an ElasticQuotaTree, and in which order.

`tree` and `quota_accounts` are the quotas and their usage, `jobs` what is read from a job, `queues` and `job_queue` the
queues, and `job_queues` the decisions of a cycle. They read no cluster and no clock: the simulated engine
(`apportion_runtime.engines.ack`) and the live scheduler (`apportion_runtime.kube`) run them on their own objects.

The hosted kube-queue is not open source. This model follows, in this order, seed document 002 and ACK's documentation
(ElasticQuotaTree, ack-kube-queue), and the public sources of kube-queue (kube-queue/kube-queue at b9bbeb9) and of its
successor (koordinator-sh/koord-queue at 298e9a8c).
"""

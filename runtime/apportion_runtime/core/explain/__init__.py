"""Explanations of a cycle's decisions: pure functions over a session whose actions have run, which do not change it.

| question | entry point | record |
|---|---|---|
| why does a job wait | `pending.why_pending(session, job)`, `pending.pending_jobs(session)` | `PendingJob` |
| why is a pod evicted | `evictions.evictions(session)` | `Eviction` |
| how does a queue come to its fair share | `fair_share.fair_share(session, queue)` | `FairShare` |
| what fit errors does the engine record | `job.fit_errors`, `job.task_errors` | `JobFitError`, `TaskFitErrors` |

Records are frozen; `lines` is their text, to be broken to a width by `text.wrapped`, and `documents.document` converts
them to plain values for JSON. Amounts are in vector units: millicores, bytes, devices; -1 is unlimited. The engine's
own fit errors are recorded while the cycle runs (`core.reasons`), in its exact wording (`fit_errors`, `node_reasons`).
"""

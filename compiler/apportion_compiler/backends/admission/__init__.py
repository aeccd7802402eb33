"""ValidatingAdmissionPolicies: the queues and classes that the workloads of a namespace may use, for every engine.

One policy serves all namespaces of a cluster: the policies read the allowed values from annotations of the namespace,
which only the platform team may change (`namespaces.py`), so the cost does not grow with the number of queues. Requires
admissionregistration.k8s.io/v1, Kubernetes 1.30 or later.
"""

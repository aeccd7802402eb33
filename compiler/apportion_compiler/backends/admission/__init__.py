"""ValidatingAdmissionPolicies: the queues and classes that the workloads of a namespace may use, for every engine.

One policy serves all namespaces of a cluster: the policies read the allowed values from annotations of the namespace,
which only the platform team may change (`namespaces.py`), so 10,000 queues cost no more than one. All of it is admissionregistration.k8s.io/v1, Kubernetes 1.30 and later.
"""

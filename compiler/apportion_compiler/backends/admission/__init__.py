"""ValidatingAdmissionPolicies: what a namespace's work may name, whatever engine reads it.

One policy serves every namespace of a cluster. What a namespace may name stands on the namespace itself, in
annotations that only the platform may change (`namespaces.py`), and the policies read it there: 10,000 queues cost
no more than one. All of it is admissionregistration.k8s.io/v1, Kubernetes 1.30 and later.
"""

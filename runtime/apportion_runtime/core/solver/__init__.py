"""The victim search: which pods to evict so that a pending job can start.

Source: pkg/scheduler/actions/common/solvers/.
"""

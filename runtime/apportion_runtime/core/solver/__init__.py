"""The search for victims: whom to evict so that a waiting job can start.

Source: pkg/scheduler/actions/common/solvers/.
"""

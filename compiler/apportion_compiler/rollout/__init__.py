"""In which order a cluster's objects are brought from one state to another, so that its engine takes every step.

Pure: former objects and wanted objects in, a plan out. `waves.py` finds the order among queues, by the model of the
engine (`models.py`); `plan.py` makes of it what whoever applies needs: successive states, and in each what waits for
what. `plan.py` is the place to begin.
"""

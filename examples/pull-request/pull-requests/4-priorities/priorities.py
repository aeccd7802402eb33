"""Priority classes."""

from apportion_policy import PriorityClass

SERVING = PriorityClass(name="serving", value=125, preemptible=False, description="Inference for customers")
TRAINING = PriorityClass(name="training", value=60, preemptible=True, description="Training with checkpoints")
NIGHTLY = PriorityClass(name="nightly", value=80, preemptible=True, description="Evaluation at night")

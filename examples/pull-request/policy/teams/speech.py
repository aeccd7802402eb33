"""Speech: recognition and synthesis."""

from apportion_policy import Queue, Resources

SPEECH = Queue(
    id="speech",
    parent="research",
    owner="@acme/speech-leads",
    namespaces=("speech",),
    guaranteed=Resources(gpu=8),
    priority_classes=("training", "nightly"),
)

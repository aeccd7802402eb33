"""Speech: recognition and synthesis. The NLP team has eight of its H100 until the end of the year."""

from departments import RESEARCH

from apportion_policy import Override, Queue, Resources

SPEECH = Queue(
    id="speech",
    title="Speech",
    parent=RESEARCH,
    owner="@acme/speech-leads",
    namespaces=("speech",),
    guaranteed=Resources(gpu={"h100": 16, "a100": 16}),
    overrides=(
        Override(
            begin="2026-11-01",
            end="2026-12-31",
            reason="lent to language for the winter model",
            owner="@acme/research-leads",
            guaranteed=Resources(gpu={"h100": 8, "a100": 16}),
        ),
    ),
)

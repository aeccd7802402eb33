"""NLP: language models. The team has eight H100 of the speech team until the end of the year."""

from departments import RESEARCH

from apportion_policy import Override, Queue, Resources

NLP = Queue(
    id="nlp",
    title="Language",
    parent=RESEARCH,
    owner="@acme/nlp-leads",
    namespaces=("nlp", "nlp-eval"),
    guaranteed=Resources(gpu={"h100": 24, "a100": 16}),
    over_quota_weight=2,
    overrides=(
        Override(
            begin="2026-11-01",
            end="2026-12-31",
            reason="pre-training of the winter model",
            owner="@acme/research-leads",
            guaranteed=Resources(gpu={"h100": 32, "a100": 16}),
        ),
    ),
)

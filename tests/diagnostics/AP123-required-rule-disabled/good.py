# as-of: 2026-11-21
from apportion_policy import Organisation, Policy, Queue, Rules, RuleSeverity

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="vision"),),
    rules=Rules(severity={"AP104": RuleSeverity.ERROR, "AP204": RuleSeverity.OFF}),
)

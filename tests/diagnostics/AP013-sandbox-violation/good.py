from pathlib import Path

from apportion_policy import Organisation, Policy, Queue, Resources

gpus = int(Path(__file__).with_name("gpus.txt").read_text(encoding="utf-8"))

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="vision", guaranteed=Resources(gpu=gpus)),),
)

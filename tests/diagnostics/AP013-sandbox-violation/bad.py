from urllib.request import urlopen

from apportion_policy import Organisation, Policy, Queue, Resources

gpus = int(urlopen("http://127.0.0.1:8080/gpus").read())  # AP013

policy = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    queues=(Queue(id="vision", guaranteed=Resources(gpu=gpus)),),
)

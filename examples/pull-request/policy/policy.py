"""One cluster with 32 H100 on KAI Scheduler, shared by inference and two research teams."""

from priorities import NIGHTLY, SERVING, TRAINING
from teams.inference import INFERENCE
from teams.research import RESEARCH
from teams.speech import SPEECH
from teams.vision import VISION

from apportion_policy import (
    GPU_TAINT,
    Accelerator,
    Cluster,
    Engine,
    Environment,
    Fixed,
    NodePool,
    Organisation,
    Policy,
)

H100 = NodePool(
    id="h100",
    provider=Fixed(),
    cpu=96,
    memory="1Ti",
    accelerator=Accelerator(model="h100", count=8, memory="80Gi"),
    min_nodes=4,
    max_nodes=4,
    taints=(GPU_TAINT,),
)

POLICY = Policy(
    organisation=Organisation(name="acme", owner="@acme/platform"),
    node_pools=(H100,),
    priority_classes=(SERVING, TRAINING, NIGHTLY),
    queues=(INFERENCE, RESEARCH, SPEECH, VISION),
    environments=(
        Environment(
            name="prod",
            clusters=(Cluster(name="gpu", engine=Engine.KAI, engine_version="0.17.0", pools=(H100,)),),
        ),
    ),
)

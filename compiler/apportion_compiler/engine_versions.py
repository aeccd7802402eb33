"""Which versions of each engine the rules, the capability tables and the emitted objects were written for.

The bounds are minor versions, both included; patches and suffixes (`0.17.0`, `v0.17.0-9`) make no difference.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from apportion_policy.cluster import Engine

MinorVersion = tuple[int, int]

_VERSION = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.[0-9]{1,9})?(?:[-+][0-9A-Za-z.+-]+)?")


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A product, the oldest and newest minor versions known of it, and where its releases are listed.

    `newest` is None where later versions are released without public change notes to check against.
    """

    product: str
    oldest: MinorVersion
    newest: MinorVersion | None
    source: str


# ValidatingAdmissionPolicy, which is emitted for every cluster, is served as v1 from 1.30 on.
KUBERNETES = VersionRange("Kubernetes", (1, 30), (1, 36), "https://kubernetes.io/releases/")

ENGINE_VERSIONS: Mapping[Engine, VersionRange] = {
    # The API group scheduling.run.ai/v2 with parent queues is the same from 0.12 on.
    Engine.KAI: VersionRange("KAI", (0, 12), (0, 17), "https://github.com/NVIDIA/KAI-Scheduler/releases"),
    # kueue.x-k8s.io/v1beta2, which is emitted, is served from 0.14 on.
    Engine.KUEUE: VersionRange("Kueue", (0, 14), (0, 20), "https://github.com/kubernetes-sigs/kueue/releases"),
    # Queues have a parent under the capacity plugin from 1.10 on.
    Engine.VOLCANO: VersionRange("Volcano", (1, 10), (1, 16), "https://github.com/volcano-sh/volcano/releases"),
    Engine.KOORDINATOR: VersionRange(
        "Koordinator", (1, 6), (1, 8), "https://github.com/koordinator-sh/koordinator/releases"
    ),
    Engine.ACK: VersionRange(
        "ack-kube-queue", (1, 21), None, "https://www.alibabacloud.com/help/en/ack/product-overview/kube-queue"
    ),
    Engine.YUNIKORN: VersionRange("YuniKorn", (1, 6), (1, 8), "https://yunikorn.apache.org/community/download"),
    Engine.NATIVE: KUBERNETES,
}


def parse_version(text: str) -> MinorVersion | None:
    """Return the major and minor number of a version such as `0.17.0` or `v0.17.0-9`; None for other text."""
    match = _VERSION.fullmatch(text.strip())
    return (int(match[1]), int(match[2])) if match else None


def minor_text(version: MinorVersion) -> str:
    """Return a minor version as people write it."""
    return f"{version[0]}.{version[1]}"

"""What `apportion bind` writes, of every kind and for every engine, is taken from a person of the queue's team.

It is sent to a cluster where the engine's tree is installed: rights, admission policies and, where Kueue runs, its
webhooks judge it, unknown fields are refused, and every field that was sent comes back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import pytest
import yaml

from apportion_compiler.bindings import KINDS
from apportion_compiler.engines.registry import ENGINES

from .bind_output import bind
from .compiled_trees import POLICIES, Tree, compile_policy, installed, missing
from .kubectl import Kubectl, Object
from .workloads import pod

pytestmark = pytest.mark.e2e

POLICY = POLICIES / "every-engine"
_QUEUE = "vision"
_DEFAULT_TOLERATION_S = 300


@pytest.fixture(scope="module")
def member_of(
    cluster_for: Callable[[Sequence[Tree]], Kubectl], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Kubectl]]:
    """A member of the team, on a cluster of an engine, which is installed until the next one is asked for.

    As a parametrized fixture it would be installed anew for almost every kind: pytest orders by the kinds, too.
    """
    with contextlib.ExitStack() as installation:
        installed_on: dict[str, Kubectl] = {}

        def member(engine: str) -> Kubectl:
            if engine not in installed_on:
                installation.close()
                installed_on.clear()
                folder = tmp_path_factory.mktemp("rendered")
                trees = compile_policy(POLICY, folder, f"on-{engine}")[f"on-{engine}", "one"]
                cluster = cluster_for(trees)
                refused = (pod(_QUEUE, scheduler=None, node="node-1"),)
                installation.enter_context(installed(cluster, trees, refused=refused))
                installed_on[engine] = cluster.as_user("vera", f"@lab/{_QUEUE}")
            return installed_on[engine]

        yield member


@pytest.mark.parametrize(
    ("engine", "kind"),
    [(engine, kind) for engine in ENGINES for kind in KINDS if KINDS[kind].engine in (None, engine)],
)
def test_bound_workloads_are_accepted(engine: str, kind: str, member_of: Callable[[str], Kubectl]) -> None:
    """The API server returns no error or warning, and stores all fields."""
    text = bind(POLICY, f"on-{engine}", _QUEUE, "--kind", kind, "--workers", "2")
    answer = member_of(engine).apply_text(text, dry_run=True)
    assert answer.accepted, answer.said
    assert answer.said == ""
    answered = answer.json()
    stored = answered["items"] if answered["kind"] == "List" else [answered]
    sent = list(yaml.safe_load_all(text))
    for one in stored:
        _forget_default_tolerations(one)
    assert [fault for one, other in zip(sent, stored, strict=True) for fault in missing(one, other)] == []


def _forget_default_tolerations(one: Object) -> None:
    """Remove from a Pod the tolerations that the API server appends."""
    tolerations = one["spec"].get("tolerations", []) if one["kind"] == "Pod" else []
    tolerations[:] = [each for each in tolerations if each.get("tolerationSeconds") != _DEFAULT_TOLERATION_S]

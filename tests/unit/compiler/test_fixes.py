"""A machine-readable fix changes one value of the author's text and nothing else."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apportion_compiler.diagnostics.diagnostic import ValueEdit
from apportion_compiler.fixes import TextEdit, apply_edits, compatible, shared_places, text_edit, unified_diff
from apportion_compiler.spans import Span
from apportion_policy import Queue, Resources
from apportion_policy.documents import load_document
from apportion_policy.policy import Policy
from apportion_policy.source import SourceLocation

HEAD = "from apportion_policy import UNLIMITED, Organisation, Policy, PriorityClass, Queue, Resources\n"


def _queue(text: str, folder: Path, index: int = 0) -> Queue:
    return _policy(text, folder, "policy.py").queues[index]


def _policy(text: str, folder: Path, name: str) -> Policy:
    file = folder / name
    file.write_bytes(text.encode())
    if name.endswith(".py"):
        policy = runpy.run_path(str(file))["policy"]
        assert isinstance(policy, Policy)
        return policy
    return load_document(file)


def _python(queues: str) -> str:
    return f'{HEAD}policy = Policy(organisation=Organisation(name="acme"), queues=({queues},))\n'


def _fixed(text: str, edit: ValueEdit) -> str | None:
    found = text_edit(edit, lambda _: text)
    return None if found is None else apply_edits(text, [found])


PYTHON = [
    ('Queue(id="a", priority=5)', ("priority",), 7, 'Queue(id="a", priority=7)'),
    ("Queue(id=\"a\", title='é 中', priority=5)", ("priority",), 7, "Queue(id=\"a\", title='é 中', priority=7)"),
    ("Queue(id='a', parent='x')", ("parent",), "it's", "Queue(id='a', parent='it\\'s')"),
    ('Queue(id="a", parent=None)', ("parent",), "b", 'Queue(id="a", parent="b")'),
    (
        'Queue(id="a", guaranteed=Resources(gpu={"h100": 8, "a100": 4}))',
        ("guaranteed", "gpu", "h100"),
        6,
        'Queue(id="a", guaranteed=Resources(gpu={"h100": 6, "a100": 4}))',
    ),
    (
        'Queue(id="a", guaranteed=Resources(memory="2Ti"))',
        ("guaranteed", "memory"),
        "512Gi",
        'Queue(id="a", guaranteed=Resources(memory="512Gi"))',
    ),
    (
        "Queue(id='a', guaranteed=Resources(gpu='8'))",
        ("guaranteed", "gpu"),
        6,
        "Queue(id='a', guaranteed=Resources(gpu='6'))",
    ),
    (
        'Queue(id="a", limit=Resources(gpu=UNLIMITED))',
        ("limit", "gpu"),
        "2500m",
        'Queue(id="a", limit=Resources(gpu="2500m"))',
    ),
    ('Queue(id="a")', ("gpu_sharing",), True, 'Queue(id="a", gpu_sharing=True)'),
    ('Queue(id="a", )', ("priority",), 3, 'Queue(id="a", priority=3 )'),
    ('Queue(id=("a"))', ("priority",), 3, 'Queue(id=("a"), priority=3)'),
    (
        'Queue(\n    id="a",  # keep (this), please\n)',
        ("priority",),
        3,
        'Queue(\n    id="a",  # keep (this), please\n    priority=3,\n)',
    ),
    ('Queue(\n    id="a"  # keep\n)', ("priority",), 3, 'Queue(\n    id="a",  # keep\n    priority=3\n)'),
    ('Queue(\n    id="a", title="b",\n)', ("priority",), 3, 'Queue(\n    id="a", title="b", priority=3\n)'),
    ('Queue(id="a", limit=Resources())', ("limit", "gpu"), 1, 'Queue(id="a", limit=Resources(gpu=1))'),
    (
        'Queue(id="a", limit=Resources(gpu={"h100": 1}))',
        ("limit", "gpu", "a100"),
        2,
        'Queue(id="a", limit=Resources(gpu={"h100": 1, "a100": 2}))',
    ),
    ('Queue(id="a", priority=5)', ("priority",), None, 'Queue(id="a")'),
    ('Queue(id="a", priority=5, title="t")', ("priority",), None, 'Queue(id="a", title="t")'),
    ('Queue(\n    id="a",\n    priority=5,  # gone\n)', ("priority",), None, 'Queue(\n    id="a",\n)'),
    ('Queue(id="a", limit=Resources(gpu=1,))', ("limit", "gpu"), None, 'Queue(id="a", limit=Resources())'),
]


@pytest.mark.parametrize(("before", "path", "value", "after"), PYTHON)
def test_edit_of_python(before: str, path: tuple[str, ...], value: object, after: str, tmp_path: Path) -> None:
    queue = _queue(_python(before), tmp_path)
    assert _fixed(_python(before), ValueEdit(queue.source, path, value)) == _python(after)


@pytest.mark.parametrize(
    ("queue", "path"),
    [
        ('Queue(id="a", priority=5 + 1)', ("priority",)),
        ('Queue(id="a", priority=int("5"))', ("priority",)),
        ('Queue(**{"id": "a", "priority": 5})', ("priority",)),
        ('Queue(id="a", limit=SMALL)', ("limit", "gpu")),
        ('Queue(id="a", limit=Resources(gpu={MODEL: 1}))', ("limit", "gpu", "h100")),
    ],
)
def test_computed_value_is_not_edited(queue: str, path: tuple[str, ...], tmp_path: Path) -> None:
    text = _python(queue).replace("policy = ", 'MODEL = "h" "100"\nSMALL = Resources(gpu=1)\npolicy = ')
    found = _fixed(text, ValueEdit(_queue(text, tmp_path).source, path, 7))
    assert found is None or path[-1] == "h100", found


def test_shared_value_is_not_edited(tmp_path: Path) -> None:
    text = HEAD + (
        "small = Resources(gpu=1)\n"
        'loop = tuple(Queue(id=f"q{i}", priority=5) for i in range(3))\n'
        'once = tuple(Queue(id=f"only{i}", priority=5) for i in range(1))\n'
        'both = (Queue(id="a", limit=small), Queue(id="b", limit=small))\n'
        'policy = Policy(organisation=Organisation(name="acme"), queues=(*loop, *once, *both))\n'
    )
    policy = _policy(text, tmp_path, "policy.py")
    shared = shared_places(policy)
    by_id = {queue.id: queue for queue in policy.queues}

    def edited(at: SourceLocation, path: tuple[str, ...]) -> bool:
        return text_edit(ValueEdit(at, path, 7), lambda _: text, shared=shared) is not None

    assert not edited(by_id["q1"].source, ("priority",))
    assert edited(by_id["only0"].source, ("priority",))
    assert by_id["a"].limit is not None
    assert not edited(by_id["a"].limit.source, ("gpu",))


def test_multi_line_method_call_is_edited(tmp_path: Path) -> None:
    text = (
        "import apportion_policy\nfrom apportion_policy import Organisation, Policy\n"
        "queue = (apportion_policy\n    .Queue(id='a',\n    priority=5))\n"
        "policy = Policy(organisation=Organisation(name='acme'), queues=(queue,))\n"
    )
    fixed = _fixed(text, ValueEdit(_queue(text, tmp_path).source, ("priority",), 7))
    assert fixed == text.replace("priority=5", "priority=7")


YAML = [
    ("- id: a\n  priority: 5 # five\n", ("priority",), 7, "- id: a\n  priority: 7 # five\n"),
    ("- id: a\n  parent: 'b'\n", ("parent",), "c's", "- id: a\n  parent: 'c''s'\n"),
    ('- id: a\n  parent: "b"\n', ("parent",), "c", '- id: a\n  parent: "c"\n'),
    ("- id: a\n  parent: b\n", ("parent",), "on", '- id: a\n  parent: "on"\n'),
    (
        "- id: a\n  title: é 中\n  limit: {gpu: '8'}\n",
        ("limit", "gpu"),
        6,
        "- id: a\n  title: é 中\n  limit: {gpu: '6'}\n",
    ),
    (
        "- id: a\n  limit:\n    gpu:\n      h100: 8\n\n  # note\n  priority: 1\n",
        ("limit", "gpu", "h100"),
        "2500m",
        "- id: a\n  limit:\n    gpu:\n      h100: 2500m\n\n  # note\n  priority: 1\n",
    ),
    ("- id: a # first\n", ("gpu_sharing",), False, "- id: a # first\n  gpu_sharing: false\n"),
    (
        "- id: a\n  limit:\n    gpu: 1\n\n# the end\n",
        ("limit", "memory"),
        "2Ti",
        "- id: a\n  limit:\n    gpu: 1\n    memory: 2Ti\n\n# the end\n",
    ),
    ("- {id: a, limit: {gpu: 1}}\n", ("limit", "cpu"), 4, "- {id: a, limit: {gpu: 1, cpu: 4}}\n"),
    ("- {id: a, priority: 5}\n", ("priority",), None, "- {id: a}\n"),
    ("- id: a\n  limit:\n    gpu: 1\n  priority: 5\n", ("limit",), None, "- id: a\n  priority: 5\n"),
    ("- priority: 5\n  id: a\n", ("priority",), None, "- id: a\n"),
    ("- id: a\n  priority: 5", ("priority",), None, "- id: a\n"),
]
DOCUMENT = "organisation: {name: acme}\nqueues:\n"


@pytest.mark.parametrize(("before", "path", "value", "after"), YAML)
def test_edit_of_yaml(before: str, path: tuple[str, ...], value: object, after: str, tmp_path: Path) -> None:
    queue = _policy(DOCUMENT + before, tmp_path, "policy.yaml").queues[0]
    assert _fixed(DOCUMENT + before, ValueEdit(queue.source, path, value)) == DOCUMENT + after


def test_edit_of_json(tmp_path: Path) -> None:
    text = '{\n  "organisation": {"name": "acme"},\n  "queues": [\n    {\n      "id": "a",\n      "parent": "b"\n    }\n  ]\n}\n'
    queue = _policy(text, tmp_path, "policy.json").queues[0]
    assert _fixed(text, ValueEdit(queue.source, ("parent",), "c")) == text.replace('"b"', '"c"')
    assert _fixed(text, ValueEdit(queue.source, ("title",), "on")) == text.replace('"b"', '"b",\n      "title": "on"')
    assert _fixed(text, ValueEdit(queue.source, ("parent",), None)) == text.replace(',\n      "parent": "b"', "")


def test_yaml_alias_is_not_edited(tmp_path: Path) -> None:
    text = (
        DOCUMENT
        + "- id: a\n  priority: &p 5\n- id: b\n  priority: *p\n- id: c\n  limit: &l {gpu: 1}\n- id: d\n  limit: *l\n"
    )
    policy = _policy(text, tmp_path, "policy.yaml")
    for queue, path in ((0, ("priority",)), (1, ("priority",)), (2, ("limit", "gpu")), (3, ("limit", "gpu"))):
        assert _fixed(text, ValueEdit(policy.queues[queue].source, path, 7)) is None


def test_line_endings_are_preserved() -> None:
    edit = TextEdit("f.py", Span(1, 1, 1, 1), "\nx")
    assert apply_edits("a\r\nb\r\n", [edit]) == "a\r\nx\r\nb\r\n"


def test_overlapping_edits_are_postponed() -> None:
    first, second = TextEdit("f.py", Span(1, 0, 1, 3), "x"), TextEdit("f.py", Span(1, 2, 1, 4), "y")
    after, elsewhere = TextEdit("f.py", Span(1, 3, 1, 4), "z"), TextEdit("g.py", Span(1, 0, 1, 3), "x")
    assert compatible([first, second, after, elsewhere]) == (first, after, elsewhere)
    with pytest.raises(ValueError, match="overlap at line 1"):
        apply_edits("abcdef", [first, second])


def test_diff_shows_changed_lines() -> None:
    assert (
        unified_diff("p.py", "p.py (fixed)", "a\nb\n", "a\nc\n")
        == "--- p.py\n+++ p.py (fixed)\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
    )


amounts = st.one_of(st.integers(0, 10_000), st.sampled_from(["500m", "64", "unlimited", "1500m"]))
models = st.dictionaries(st.sampled_from(["h100", "a100", "b200"]), amounts, min_size=1)
titles = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), max_size=12)


@given(drawn=st.lists(st.tuples(titles, models), min_size=1, max_size=4), data=st.data())
def test_edit_changes_only_that_value(
    drawn: list[tuple[str, dict[str, object]]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("property")
    queues = ", ".join(
        f"Queue(id='q{i}', title={title!r}, limit=Resources(gpu={gpus!r}))" for i, (title, gpus) in enumerate(drawn)
    )
    index = data.draw(st.integers(0, len(drawn) - 1))
    model = data.draw(st.sampled_from(sorted(drawn[index][1])))
    value = data.draw(amounts)
    before = _policy(_python(queues), folder, "policy.py")
    limit = before.queues[index].limit
    assert limit is not None
    fixed = _fixed(_python(queues), ValueEdit(limit.source, ("gpu", model), value))
    assert fixed is not None
    after = _policy(fixed, folder, "after.py")
    changed = Resources(gpu={**drawn[index][1], model: value})
    expected = [q.model_copy(update={"limit": changed}) if i == index else q for i, q in enumerate(before.queues)]
    assert list(after.queues) == expected

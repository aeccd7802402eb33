"""The published schema equals the model's, and accepts and rejects the same documents as the reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from apportion_policy.documents import load_document
from apportion_policy.errors import DocumentFault
from apportion_policy.schema import JSON_SCHEMA_DIALECT, policy_schema

REPOSITORY = Path(__file__).parents[3]
PUBLISHED = REPOSITORY / "compiler/apportion_compiler/schemas/policy.v1.json"
DOCUMENTS = [
    f for f in sorted(REPOSITORY.glob("tests/diagnostics/*/good.yaml")) if not f.parent.name.startswith(("AP7", "AP8"))
]
"""Those of AP7xx are raw manifests, those of AP8xx snapshots of clusters."""
HEAD = "organisation: {name: acme}\n"


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(policy_schema(), format_checker=jsonschema.FormatChecker())


def test_published_schema_is_up_to_date(update_golden: bool) -> None:
    text = json.dumps(policy_schema(), indent=2, ensure_ascii=False) + "\n"
    if update_golden:
        PUBLISHED.write_text(text, encoding="utf-8")
    else:
        assert text == PUBLISHED.read_text(encoding="utf-8"), "run: pytest --update-golden tests/unit/policy"


def test_schema_is_well_formed() -> None:
    schema = policy_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == JSON_SCHEMA_DIALECT


def test_every_field_of_a_queue_is_described() -> None:
    fields = policy_schema()["$defs"]["Queue"]["properties"]
    assert {name for name, field in fields.items() if "description" not in json.dumps(field)} == set()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda file: file.parent.name)
def test_schema_accepts_valid_documents(document: Path, validator: jsonschema.Draft202012Validator) -> None:
    class Loader(yaml.SafeLoader):
        """Dates stay text, as in the reader of documents."""

    Loader.yaml_implicit_resolvers = {
        key: [(tag, regexp) for tag, regexp in resolvers if "timestamp" not in tag]
        for key, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    body: Any = yaml.load(document.read_text(encoding="utf-8"), Loader=Loader)
    assert [error.message for error in validator.iter_errors(body)] == []


@pytest.mark.parametrize(
    "document",
    [
        "queues: []\n",
        HEAD + "queues: [{id: a, guarantee: {gpu: 1}}]\n",
        HEAD + "queues: [{id: a, guaranteed: {gpu: [1]}}]\n",
        HEAD + "queues: [{id: a, priority: -1}]\n",
        HEAD + "queues: [{id: a, reclaim_min_runtime: soon}]\n",
        HEAD + "environments: [{name: prod, clusters: []}]\n",
        HEAD + "environments: [{name: prod, clusters: [{name: a, engine: slurm, engine_version: '1'}]}]\n",
        HEAD + "kind: Queue\n",
        HEAD + "node_pools: [{id: p, provider: {kind: azure}}]\n",
    ],
)
def test_schema_and_reader_refuse_the_same_documents(
    document: str, validator: jsonschema.Draft202012Validator, tmp_path: Path
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(document, encoding="utf-8")
    with pytest.raises(DocumentFault):
        load_document(file)
    assert not validator.is_valid(yaml.safe_load(document))

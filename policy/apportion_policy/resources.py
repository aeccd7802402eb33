"""Amounts of cluster resources: CPU, memory, GPUs (any model, or per model), machines of a pool, other devices."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, cast

from pydantic import Discriminator, Field, PlainValidator, Tag, WithJsonSchema, model_validator

from apportion_policy.declaration import Declaration
from apportion_policy.errors import QuantityError
from apportion_policy.gpu_model import GPU_MODEL_PATTERN
from apportion_policy.identifiers import PoolId
from apportion_policy.quantity import (
    Amount,
    QuantityInput,
    count_text,
    cpu_text,
    decimal_text,
    gpu_text,
    memory_text,
    parse_count,
    parse_cpu,
    parse_gpu,
    parse_memory,
    parse_weight,
    readable_memory,
    weight_text,
)
from apportion_policy.refused_values import kind_of_value

_GPU_MODEL = re.compile(GPU_MODEL_PATTERN)

CPU = "cpu"
MEMORY = "memory"
GPU = "gpu"
"""All GPUs of a queue, of any model."""


def gpu_resource(model: str) -> str:
    """Return the key for amounts of one GPU model: `gpu/h100`."""
    return f"{GPU}/{model}"


def _canonical(parse: Callable[[QuantityInput], Any], text: Callable[[Any], str]) -> Callable[[Any], str]:
    known: dict[tuple[type, Any], str] = {}

    def canonical(value: Any) -> str:
        # The type is part of the key because True, 1 and 1.0 are equal.
        key = (type(value), value)
        try:
            found = known.get(key)
        except TypeError:
            found = None
        if found is None:
            if not isinstance(value, _QUANTITY_TYPES):
                raise QuantityError(f"a quantity must be a number or a string, not {kind_of_value(value)}")
            found = text(parse(value))
            if len(known) < _MAX_KNOWN:
                known[key] = found
        return found

    return canonical


def _schema(examples: list[Any]) -> WithJsonSchema:
    return WithJsonSchema({**_QUANTITY_SCHEMA, "examples": examples})


_MAX_KNOWN = 65_536
_QUANTITY_TYPES = (int, str, float, Decimal)
_QUANTITY_SCHEMA = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "minLength": 1}]}
_canonical_gpu = _canonical(parse_gpu, gpu_text)


def _canonical_gpus(value: Any) -> str | dict[str, str]:
    if not isinstance(value, Mapping):
        return _canonical_gpu(value)
    for model in value:
        if not isinstance(model, str) or not _GPU_MODEL.fullmatch(model):
            raise QuantityError(
                f'"{model}" is not a GPU model such as h100 (lowercase letters, digits, dots and dashes)'
            )
    return {model: _canonical_gpu(count) for model, count in value.items()}


Cpu = Annotated[QuantityInput, PlainValidator(_canonical(parse_cpu, cpu_text)), _schema([64, "500m", "unlimited"])]
Memory = Annotated[QuantityInput, PlainValidator(_canonical(parse_memory, memory_text)), _schema(["2Ti", "512Mi"])]
Count = Annotated[QuantityInput, PlainValidator(_canonical(parse_count, count_text)), _schema([4])]
WeightValue = Annotated[QuantityInput, PlainValidator(_canonical(parse_weight, weight_text)), _schema([1, "0.5"])]
Gpus = Annotated[
    QuantityInput | Mapping[str, QuantityInput],
    PlainValidator(_canonical_gpus),
    WithJsonSchema(
        {
            "anyOf": [
                *_QUANTITY_SCHEMA["anyOf"],
                {
                    "type": "object",
                    "propertyNames": {"pattern": GPU_MODEL_PATTERN},
                    "additionalProperties": _QUANTITY_SCHEMA,
                },
            ],
            "examples": [8, "0.5", {"h100": 64, "a100": 32}],
        }
    ),
]


class Resources(Declaration):
    """Amounts of resources. An omitted field is *unset*, `0` is none, `UNLIMITED` is no limit.

    `machines` counts whole machines of node pools and excludes the other fields; the node pool declares the resources of
    a machine.
    """

    cpu: Cpu | None = Field(default=None, description="CPU cores, as a Kubernetes quantity.")
    memory: Memory | None = Field(default=None, description="Bytes of memory, as a Kubernetes quantity.")
    gpu: Gpus | None = Field(default=None, description="GPUs of any model, or a mapping from model to number of GPUs.")
    machines: Mapping[PoolId, int] | None = Field(
        default=None, description="Whole machines by node pool; cannot be combined with other fields."
    )
    extended: Mapping[str, Count] | None = Field(
        default=None, description="Other device resources by their Kubernetes name, such as rdma/hca."
    )

    @model_validator(mode="after")
    def _one_way_of_counting(self) -> Resources:
        if self.machines is not None:
            if self.cpu is not None or self.memory is not None or self.gpu is not None:
                raise ValueError("`machines` already determines cpu, memory and gpu: omit them")
            if any(n < 0 for n in self.machines.values()):
                raise ValueError("the number of machines cannot be negative")
        return self

    def amounts(self) -> dict[str, Amount]:
        """Return the amounts that are set, without `machines`, in base units; keys are cpu, memory, gpu, gpu/<model> and names."""
        amounts: dict[str, Amount] = {}
        if self.cpu is not None:
            amounts[CPU] = parse_cpu(self.cpu)
        if self.memory is not None:
            amounts[MEMORY] = parse_memory(self.memory)
        if isinstance(self.gpu, Mapping):
            for model, count in self.gpu.items():
                amounts[gpu_resource(model)] = parse_gpu(count)
        elif self.gpu is not None:
            amounts[GPU] = parse_gpu(self.gpu)
        for name, devices in (self.extended or {}).items():
            amounts[name] = parse_count(devices)
        return amounts


class Weight(Declaration):
    """Weights for surplus by resource, for engines that support them."""

    cpu: WeightValue | None = Field(default=None, description="Weight for surplus CPU.")
    memory: WeightValue | None = Field(default=None, description="Weight for surplus memory.")
    gpu: WeightValue | None = Field(default=None, description="Weight for surplus GPUs.")

    def weights(self) -> dict[str, int]:
        """Return the weights that are set, in thousandths; keys are cpu, memory and gpu."""
        named = ((CPU, self.cpu), (MEMORY, self.memory), (GPU, self.gpu))
        return {name: parse_weight(value) for name, value in named if value is not None}


def _weight_form(value: Any) -> str:
    return "each" if isinstance(value, Mapping | Weight) else "one"


OverQuotaWeight = Annotated[
    Annotated[WeightValue, Tag("one")] | Annotated[Weight, Tag("each")], Discriminator(_weight_form)
]
"""One weight for every resource, or a `Weight`."""

AmountField = Literal["guaranteed", "limit", "lending_limit"]
"""A field of a queue that holds amounts."""

REPLACE = "Fields to replace completely; in all other fields, amounts that the override does not set are kept."
"""Fields that an override replaces completely."""


def check_replaced(override: Declaration) -> None:
    """Reject an override that replaces a field without a value for it. Raises `ValueError`."""
    for field in cast(Any, override).replace:
        if getattr(override, field) is None:
            raise ValueError(f"`replace` lists `{field}`, which the override does not set")


RESOURCE_TEXT: Mapping[str, Callable[[Amount], str]] = {CPU: cpu_text, MEMORY: memory_text, GPU: gpu_text}


def amount_text(resource: str, amount: Amount) -> str:
    """Return a human-readable amount with its unit: `64 H100`, `2Ti memory`, `0.5 cpu`."""
    if resource.startswith(f"{GPU}/"):
        return f"{gpu_text(amount)} {resource.partition('/')[2].upper()}"
    if resource == GPU:
        text = gpu_text(amount)
        return f"{text} GPU" if text == "1" else f"{text} GPUs"
    if resource == CPU:
        return f"{decimal_text(amount)} cpu"
    if resource == MEMORY:
        nearest, exact = readable_memory(amount)
        return f"{nearest} memory" if exact is None else f"{nearest} memory ({exact})"
    return f"{RESOURCE_TEXT.get(resource, count_text)(amount)} {resource}"

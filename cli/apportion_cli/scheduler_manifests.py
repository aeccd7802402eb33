"""The objects that run the packaged scheduler in a cluster, as a file for `kubectl apply`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from apportion_cli.console import current
from apportion_cli.errors import PreconditionError

if TYPE_CHECKING:
    from apportion_runtime.kube.configuration import SchedulerConfiguration

FILE = "apportion-scheduler.yaml"


def write_manifests(directory: Path, image: str, chosen: SchedulerConfiguration) -> None:
    """Write the objects of an image and a configuration to a directory, in apply order.

    Raises:
        PreconditionError: If the file cannot be written.
    """
    from apportion_compiler.dumper import dump_all
    from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects

    packaged = SchedulerDeployment(
        image,
        scheduler=chosen.scheduler_name,
        shards=(chosen.shard,) if chosen.shard is not None else (),
        reservation=chosen.reservation_image,
        engine=chosen.engine,
    )
    file = directory / FILE
    try:
        directory.mkdir(parents=True, exist_ok=True)
        file.write_text(dump_all(scheduler_objects(packaged)), encoding="utf-8")
    except OSError as refused:
        raise PreconditionError(f"cannot write {file}: {refused.strerror}") from None
    current().out(f"wrote {file}\n")

"""The conditions of a run: what the options and the machine make of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from harness.experiment import Host, Plan, Setting
from harness.experiment.workload import Size
from harness.hosting.images import count_images
from harness.hosting.machine import this_machine
from harness.hosting.options import Options

MAX_BATCH = {"small": 64, "full": 1024}
MAX_BATCH_ON_GPU = 16384  # ResNet-18 keeps some 22 MB per image while it trains: so many would take 360 GB


@dataclass(frozen=True)
class Conditions:
    """What levels, workloads and the referee are told. The machine is looked at when first needed."""

    options: Options
    rehearse: bool

    @cached_property
    def size(self) -> Size:
        """The size of the problems."""
        if self.options.size != "auto":
            return cast(Size, self.options.size)
        return "full" if self._has_gpu else "small"

    @property
    def _has_gpu(self) -> bool:
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "all").strip() in ("", "-1")
        return bool(this_machine().gpus) and not hidden

    @property
    def _max_batch(self) -> int:
        return MAX_BATCH_ON_GPU if self.size == "full" and self._has_gpu else MAX_BATCH[self.size]

    @cached_property
    def host(self) -> Host:
        """What the levels of a technique may depend on, without accelerators."""
        from joblib import cpu_count

        cores = cpu_count()  # those that affinity and a container's limit leave to this process
        return Host(
            cores=cores,
            size=self.size,
            max_batch=self.options.max_batch or self._max_batch,
            max_workers=self.options.max_workers or cores,
        )

    @property
    def part_s(self) -> float | None:
        """How long the session may take, None where it may take as long as it needs."""
        minutes = self.options.minutes
        return None if minutes is None or self.rehearse else 60 * minutes

    @property
    def setting(self) -> Setting:
        """What every workload is told."""
        options = self.options
        return Setting(size=self.size, seed=options.seed, data_dir=options.data_dir, cores=self.host.cores)

    @property
    def plan(self) -> Plan:
        """How hard to look."""
        options = self.options
        return Plan(
            budget_s=options.budget_s,
            noise=options.noise,
            workers=options.workers,
            silence_s=options.timeout_s,
            rehearse=self.rehearse,
            cold_cache=options.cold_cache,
        )

    @property
    def settings(self) -> dict[str, str | int | float | bool | None]:
        """The conditions as they are stored; the user's own folder is counted, not named."""
        plan, host = self.plan, self.host
        return {
            "size": self.size,
            "budget_s": plan.budget_s,
            "alpha": plan.alpha,
            "noise": plan.noise,
            "half_width": plan.half_width,
            "builds": plan.builds,
            "workers": plan.workers,
            "cache": "cold" if plan.cold_cache else "hot",
            "max_batch": host.max_batch,
            "max_workers": host.max_workers,
            "cores": host.cores,
            "seed": self.options.seed,
            "own_images": count_images(self.options.data_dir) if self.options.data_dir else None,
        }

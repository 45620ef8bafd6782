"""A program of a user's own as a workload."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from accelbench.core import Arm, Program, Setting, Workload
from accelbench.core.workload import workload_of_program
from accelbench.errors import BadInput, Unavailable
from accelbench.schema.reasons import Reason, reason
from accelbench.text import name_type
from accelbench.units import percent
from accelbench.workloads.torch.training_loop import TorchTraining, TorchTrainingLoop, TrainOptions
from accelbench.workloads.training import MOST_SPREAD, require_new_model

if TYPE_CHECKING:
    from accelbench.workloads.torch.training_step import Trainer
    from accelbench.workloads.torch.user_loader import Processes, UserLoader

USUAL_BATCHES = 8  # of an iteration
LONGEST_S = 0.25  # of an iteration, where one batch is shorter: the shorter it is, the sooner there are pairs enough
LONGEST_LOADED_S = 2.0  # where loading takes its share, so that loader processes have a few batches to load
SHORTEST_S = 0.05  # so that a loader's start of an epoch weighs little
LOADING_SHARE = 0.05  # of a batch's time
LOADED_BATCHES = (4, 8)  # at least, where loading takes its share; the more cores, the more
TIMED_BATCHES = 3
ENOUGH_S = 1.0  # of timing batches
LITTLE_WAIT = 0.045  # of the time: who saves it all gains less than 5 %
REPEATED_STEPS = 3
WAITS = 8  # readings, all of which are below their median once in 256 times
MOST_WAITS_S = 3.0  # for all readings, else nothing is known

# What a training step of the program's own leaves to no technique.
OWN_STEP = "the program's own training step "
REFUSED_BY_OWN_STEP: dict[str, str] = {
    "optimizer": "steps the optimizers that it holds, whose implementation is chosen where they are made",
    "accumulation": "learns from a batch as it comes: nothing divides the batch for it",
    "cuda_graphs": "may call its models in any way: no graph is recorded of it",
    "log_interval": "reads its loss where it wants to",
    "log_by": "reads its loss as it wants to",
}


def program(build: Callable[[], Program], *, unit: str = "item") -> Workload:
    """Return the workload of a program of one's own, to which PyTorch's techniques apply as to the suite's workloads.

    Args:
        build: makes the program; it is called afresh for every arm, in a worker process, from the same seed.
        unit: an item of the program's data set, in the singular, such as ``"image"``.
    """
    return workload_of_program(build, train_program, frameworks=("torch",), unit=unit, shared=TrainOptions)


def train_program(build: Callable[[], Program], setting: Setting, options: TrainOptions) -> Arm:
    """Return the arm of some batches of a program: loaded, sent to the device, computed with, and learnt from.

    The program as it stands decides the options that are not set. The amount of work, and whether all data are used,
    is unknown.

    Raises:
        BadInput: the function returned something other than a program, or a program that cannot run.
        Unavailable: an option cannot apply; if options are only checked, also one that has the program's own value.
    """
    from accelbench.workloads.torch.training_step import ProgramTask
    from accelbench.workloads.torch.user_loader import UserLoader

    stored = setting.storage.values.setdefault(("program", build), {})
    known = stored.get("program") if setting.only_check else None  # to check options, one program is enough
    found: Any = known or build()
    if setting.only_check:
        stored["program"] = found
    if not isinstance(found, Program):
        raise BadInput(f"the function returned {name_type(found)}; expected an accelbench.Program")
    own = UserLoader(found.loader, setting.seed)
    task = ProgramTask(found, setting.seed)
    if known is None:
        learnt = (weight for weight in found.model.parameters() if weight.requires_grad)
        require_new_model(next(learnt, found.model))
    training = TorchTraining(
        task=task,
        data=lambda _: None,  # the loop makes epochs of the program's own loader
        batch_size=own.batch_size or 1,
        location="loaded",
        most=own.most,
        watched=True,
        device=task.device,
        memory_format=None,
    )
    return ProgramLoop(setting, options, training, own, found, stored).arm_or_check()


class ProgramLoop(TorchTrainingLoop):
    """The loop over batches of a user's program, whose options are as the program has them unless techniques set them.

    ``stored`` is what the arms of one trial share.
    """

    def __init__(
        self,
        setting: Setting,
        options: TrainOptions,
        training: TorchTraining,
        own: UserLoader,
        program: Program,
        stored: dict[Any, Any],
    ) -> None:
        self._own, self._program, self._stored = own, program, stored
        super().__init__(setting, options, training)

    @property
    def recipes(self) -> Mapping[str, Mapping[str, str]]:
        """What a user writes for techniques: what the program says, and what names its kinds of model and optimizer."""
        return {**self.training.task.recipes, **self._program.recipes}

    @property
    def own_numbers(self) -> Mapping[str, int]:
        """The numbers that the program has for options by itself, as far as they are known."""
        numbers = {name: self._own_value(name) for name in ("batch_size", "workers")}
        return {name: number for name, number in numbers.items() if number is not None}

    def _objections(self) -> Iterator[str | Reason]:
        options = self.options
        for option in sorted(options.given & {"batch_size", "workers", "persistent_workers", "prefetch_factor"}):
            if objection := self._own.objection(option):
                yield objection
        if options.accumulation > 1 and self._own.batch_size is None:
            yield "nothing tells beforehand how many items a batch of the program has, or if it divides into parts"
        if "pin_memory" in options.given and not self._own.is_data_loader:
            yield str(self._own.objection("pin_memory"))
        if options.given & {"persistent_workers", "prefetch_factor"} and not self.processes.workers:
            yield "the program loads in its own process, and no loader process could live on or load ahead"
        if "compile" in options.given and self.training.task.is_compiled:
            yield (
                reason("program-has-this") if options.compile == "default" else "the program compiles its model itself"
            )
        if self.training.task.trains_itself:
            yield from self._objections_of_own_step()
        if self.setting.only_check and options.given and all(map(self._is_own, sorted(options.given))):
            yield reason("program-has-this")
        loads_otherwise = not all(map(self._is_own, options.given & {"workers", "loading"}))
        if self.setting.only_check and loads_otherwise and self._most_wait_share < LITTLE_WAIT:
            yield (
                f"the program waits for its batches in at most {percent(self._most_wait_share)} of its time, "
                "which is all that loading them otherwise could save"
            )
        if self._own.is_stream and (options.workers or 0) > 1 and self._repeats_items():
            yield (
                "the program's data set gives every loader process all of its items: several processes would repeat "
                "them, unless its __iter__ divides them by torch.utils.data.get_worker_info()"
            )
        if self.setting.only_check and "amp" in options.given and (own := self._own_precision) != "fp32":
            yield f"the program sets its own precision, {own}, which nothing outside can change"
        if options.data_location in ("resident", "host") and self._own.is_data_loader:
            yield "the program's loader makes its batches anew in every epoch: batches in memory would leave that out"
        if options.data_location == "resident" and self.device.type == "cpu":
            yield reason("already-resident")
        if options.loading in ("thread", "device") and not self.processes.workers and self._draws:
            yield "the program's data draw random numbers, and a thread that draws them beside the model's changes both"
        yield from super()._objections()

    def _objections_of_own_step(self) -> Iterator[str]:
        options = self.options
        usual = TrainOptions()
        for name, why in REFUSED_BY_OWN_STEP.items():
            if getattr(options, name) != getattr(usual, name):
                yield OWN_STEP + why
        if options.amp == "fp16":
            yield OWN_STEP + "makes the backward pass, in which float16 needs a gradient scaler"
        if options.ablation == "silent":
            yield OWN_STEP + "reads its loss where it wants to"

    def _is_own(self, option: str) -> bool:
        """Return whether an option is set to what the program has already."""
        own = self._own_value(option)
        return own is not None and bool(own == getattr(self.options, option))

    def _own_value(self, option: str) -> Any:
        """Return what the program has already; None where that is unknown."""
        from accelbench.workloads.torch import devices

        task = self.training.task
        if option in ("workers", "persistent_workers", "prefetch_factor", "pin_memory"):
            return getattr(self._own.processes, option)
        if option == "device":
            chosen = devices.label(devices.choose(self.options.device))
            return self.options.device if chosen == devices.label(devices.choose(task.device)) else None
        values: dict[str, Callable[[], Any]] = {
            "batch_size": lambda: self._own.batch_size,
            "amp": lambda: self._own_precision,
            "memory_format": lambda: task.memory_format,
            "compile": lambda: None if task.is_compiled else "eager",
            "optimizer": lambda: task.implementation(self.device),
            "attention": lambda: task.attention,
            "activation_checkpointing": lambda: task.recomputes_activations,
            "cuda_graphs": lambda: False,
            "non_blocking": lambda: False,
            "accumulation": lambda: None if task.trains_itself else 1,
            "log_interval": lambda: 0,
            "log_by": lambda: "none",
            "loading": lambda: "blocking",
            "ablation": lambda: "none",
        }
        return values[option]() if option in values else None

    @property
    def _own_precision(self) -> str:
        """The precision that the program itself sets for its model: ``"fp32"``, ``"bf16"`` or ``"fp16"``.

        A batch is computed with to see it, where only options are checked.
        """
        if "precision" not in self._stored:
            self._stored["precision"] = self._find_precision()
        return str(self._stored["precision"])

    def compiled_parts(self) -> list[Any]:
        """Return the modules that a step of the program calls from outside of any other: those are compiled.

        Raises:
            Unavailable: there are none.
        """
        model = self.trainer.model
        if "called" not in self._stored:
            self._stored["called"] = self.training.task.observe_calls(model, self.trainer.send(self._own.first()))
            self.trainer.reset()
        if not self._stored["called"]:
            raise Unavailable("the program's step calls none of its modules, so there is nothing to compile")
        return [model.get_submodule(name) for name in self._stored["called"]]

    def _find_precision(self) -> str:
        from accelbench.workloads.torch.training_step import precision_called

        task = self.training.task
        if (weights := task.weights_precision) != "fp32":
            return str(weights)
        trainer = self._any_trainer()
        found = task.observe_autocast(trainer.model, trainer.send(self._own.first()), self.device)
        trainer.reset()
        return next(iter(sorted(map(precision_called, found))), "fp32")

    def _any_trainer(self) -> Trainer:
        """Return the loop's trainer; where options are only checked, one that computes as the program does."""
        from accelbench.workloads.torch.training_step import Trainer

        return getattr(self, "trainer", None) or Trainer(self.training.task, device=self.device, memory_format=None)

    @property
    def _most_wait_share(self) -> float:
        """The share of its time in which the program waits for its batches, at most; 1 where it is not known.

        It is not where loader processes work beside the program: fewer of them might free a core.
        """
        if "wait" not in self._stored:
            loads_itself = self._own.is_data_loader and not self._own.processes.workers
            self._stored["wait"] = max(self._read_wait_shares(), default=1.0) if loads_itself else 1.0
        return float(self._stored["wait"])

    def _read_wait_shares(self) -> list[float]:
        """Return for some batches after the first one for which share of their time the program waited for them.

        Nothing is returned where that takes too long.
        """
        trainer, source = self._any_trainer(), self._own.sample(WAITS + 1, draws=self._draws)
        shares: list[float] = []
        start_s, is_warm = time.perf_counter(), False
        while len(shares) < WAITS:
            asked_s = time.perf_counter()
            for batch in source:
                loaded_s = time.perf_counter()
                trainer.train_on(trainer.send(batch))
                trainer.wait()
                end_s = time.perf_counter()
                shares += [(loaded_s - asked_s) / (end_s - asked_s)] if is_warm else []
                asked_s, is_warm = end_s, True
                if end_s - start_s > MOST_WAITS_S:
                    break
            if time.perf_counter() - start_s > MOST_WAITS_S:
                break
        trainer.reset()
        return shares if len(shares) >= WAITS else []

    def _repeats_items(self) -> bool:
        if "repeats" not in self._stored:
            self._stored["repeats"] = self._own.repeats_in_processes()
        return bool(self._stored["repeats"])

    @property
    def processes(self) -> Processes:
        """How batches are loaded: as the program does it, with the options that are set.

        Raises:
            Unavailable: there are fewer cores than loader processes.
        """
        from accelbench.workloads.torch.data import worker_count

        options, own = self.options, self._own.processes
        workers = own.workers if options.workers is None else worker_count(options.workers, self.setting.cores)
        persistent = options.persistent_workers
        return replace(
            own,
            workers=workers,
            persistent_workers=own.persistent_workers if persistent is None else persistent,
            prefetch_factor=options.prefetch_factor or own.prefetch_factor,
            pin_memory=own.pin_memory if options.pin_memory is None and not self._pins else self._pins,
        )

    @cached_property
    def _draws(self) -> bool:
        """Whether the program's data draw random numbers that can be seeded."""
        return bool(self._data_facts[0])

    @property
    def _data_facts(self) -> tuple[bool, bool]:
        """Whether the program's data draw random numbers, and whether an epoch's data are the same every time."""
        if "data" not in self._stored:
            self._stored["data"] = self._own.find_draws()
        found: tuple[bool, bool] = self._stored["data"]
        return found

    def build(self) -> None:
        """Make the model and the source of batches, whose number the first arm of a trial chooses."""
        chosen = self._program.batches or self._stored.get("batches") or self._known_batches()
        self._count: int = chosen or 1 + TIMED_BATCHES
        super().build()
        if self.options.amp != "fp32" and (own := self._own_precision) != "fp32":
            if own == self.options.amp:
                raise Unavailable(reason("program-has-this"))
            raise Unavailable(f"the program sets its own precision, {own}, which nothing outside can change")
        if chosen is None:
            self._count = self._choose_batches()
            self.source.close()
            self.source = self._source()
        self._stored["batches"] = self._count
        if "spread" not in self._stored and self.training.task.learns and self.setting.compares_outputs:
            self._stored["spread"] = self._measure_spread()
        self.trainer.reset()
        if self.options.persistent_workers is not None and self.source.is_part and self.processes.workers:
            raise Unavailable(
                "an iteration is a part of the program's epoch, within which loader processes live on whatever this is"
            )

    def _measure_spread(self) -> float:
        """Return how far the losses of two trainings from the same start are apart, relative to the largest.

        They differ if a step changes something that no reset restores, such as a replay buffer.
        """
        batch = self._own.first()
        runs = []
        for _ in range(2):
            self.trainer.reset()
            sent = (self.trainer.send(deepcopy(batch)) for _ in range(REPEATED_STEPS))
            runs.append([float(self._scalar(self.trainer.train_on(each)[0])) for each in sent])
        largest = max(map(abs, runs[0]))
        apart = max(abs(loss - other) for loss, other in zip(*runs, strict=True))
        return apart / largest if largest and math.isfinite(apart) else 0.0

    def _known_batches(self) -> int | None:
        """Return the number of batches that an earlier visit chose."""
        items = self.setting.items
        return None if items is None else self._own.batches_of(items)

    def _choose_batches(self) -> int:
        """Return how many batches an iteration takes, by the time that loading and learning take.

        Few of them give pairs soon, and many hide what a loader does at the start of an epoch.
        """
        loading_s, batch_s = self._time_batches()
        wait_share = loading_s / batch_s if batch_s else 0.0
        loads = self._own.is_data_loader and (self.processes.workers > 0 or wait_share > LOADING_SHARE)
        few, more = LOADED_BATCHES
        least = (few if self.setting.cores <= few else more) if loads else 1
        while least > 1 and least * batch_s > LONGEST_LOADED_S:
            least //= 2
        count = USUAL_BATCHES
        while count > least and count * batch_s > LONGEST_S:
            count //= 2
        most = self._most_batches()
        while 2 * count <= most and count * batch_s < SHORTEST_S:
            count *= 2
        return max(1, min(count, most))

    def _most_batches(self) -> int:
        from accelbench.workloads.torch.user_loader import MOST_BATCHES

        most = self._own.most
        if most is None or not self._own.batch_size:
            return MOST_BATCHES
        return min(MOST_BATCHES, most // self._own.batch_size)

    def _time_batches(self) -> tuple[float, float]:
        """Return the seconds that loading a batch takes, and loading and learning; the first one warms up."""
        timed: list[tuple[float, float]] = []
        batches = iter(self.source)
        start_s = asked_s = time.perf_counter()
        while (batch := next(batches, None)) is not None:
            loaded_s = time.perf_counter()
            self.train_on(batch)
            self.trainer.wait()
            end_s = time.perf_counter()
            timed.append((loaded_s - asked_s, end_s - asked_s))
            asked_s = end_s
            if end_s - start_s > ENOUGH_S and len(timed) > 1:
                break
        warm = timed[1:] or timed
        return min(loading for loading, _ in warm), min(both for _, both in warm)

    def _source(self) -> Any:
        """Return the first batches of the program's loader, or where they lie when the clock starts."""
        draws, processes = self._draws, self.processes
        if self._reads_ahead:
            processes = replace(processes, pin_memory=False)
        batch_size = self.batch_size if self._own.batch_size is not None else None
        kind = ("counted", batch_size, processes.workers, self._count)
        epoch = self._own.epoch(self._count, batch_size, processes, draws=draws, known=self._stored.get(kind))
        self._stored[kind] = epoch.counted
        if not self._reads_ahead:
            return epoch
        source = self._read_ahead(epoch)
        source.items = epoch.items
        return source

    def arm(self, **facts: Any) -> Arm:
        """Build the loop and return its arm."""
        arm = super().arm(**facts)
        remarks = self._remarks()
        reasons = "data-never-repeat", "other-batches", "program-differs"
        compares = self.setting.compares_outputs and not any(remark.code in reasons for remark in remarks)
        return replace(
            arm, reseed=self.training.task.reseed, remarks=remarks, ignore_output=arm.ignore_output or not compares
        )

    def _remarks(self) -> tuple[Reason, ...]:
        from accelbench.workloads.torch.user_loader import Seeds

        draws, repeats = self._data_facts
        remarks = [] if repeats else [reason("data-never-repeat")]
        if (spread := self._stored.get("spread", 0.0)) > MOST_SPREAD:
            remarks.append(reason("program-differs", spread=spread))
        if draws and repeats:
            if "seed_s" not in self._stored:
                self._stored["seed_s"] = Seeds(0, ()).time_s()
            remarks.append(reason("items-seeded", seed_s=self._stored["seed_s"]))
        workers, own = (max(1, each.workers) for each in (self.processes, self._own.processes))
        if self._own.is_stream and workers != own:
            remarks.append(reason("other-batches", workers=workers, own=own))
        return tuple(remarks)

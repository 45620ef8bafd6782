"""A Keras program of a user's own as a workload: a call of ``Model.fit``, or of ``predict``, is an iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from accelbench.core import Arm, KerasProgram, Setting, Workload
from accelbench.core.arm import nothing
from accelbench.core.workload import workload_of_program
from accelbench.errors import Unavailable, check_choice
from accelbench.schema.reasons import Reason, reason
from accelbench.workloads.training import MOST_SPREAD

if TYPE_CHECKING:
    from accelbench.workloads.tensorflow.model_fit import FittedProgram, KerasProgramFacts

LONG_START = 0.25  # of an iteration, before its first batch is there


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """The options that techniques switch in a Keras program. None leaves the program as it is.

    ``loop`` is ``"function"`` for a traced graph and ``"xla"`` for one that XLA compiles. ``prefetch`` is a number of
    batches or ``"autotune"``. ``default_optimizations``, ``data_threads`` and ``deterministic`` are those of
    ``tf.data.Options``; 0 threads are TensorFlow's own pool. ``ablation`` is ``"decoded"`` for batches that lie in
    memory before an iteration begins.
    """

    superseded: ClassVar[Mapping[str, str]] = {
        "loop": "Model.fit is the loop of a Keras program, and xla switches its jit_compile"
    }
    batch_size: int | None = None
    device: str | None = None
    dtype_policy: str | None = None
    loop: str | None = None
    steps_per_execution: int | None = None
    prefetch: int | str | None = None
    default_optimizations: bool | None = None
    data_threads: int | None = None
    deterministic: bool | None = None
    log_interval: int | None = None
    data_location: str | None = None
    ablation: str | None = None

    @property
    def changes_pipeline(self) -> bool:
        """Whether an option is set that belongs to a ``tf.data.Dataset``."""
        pipeline = self.prefetch, self.default_optimizations, self.data_threads, self.deterministic
        return any(option is not None for option in pipeline)


def keras_program(build: Callable[[], KerasProgram], *, unit: str = "item") -> Workload:
    """Return the workload of a Keras program of one's own, to which TensorFlow's techniques apply.

    Args:
        build: makes the program; it is called afresh for every arm, in a worker process, from the same seed.
        unit: an item of the program's data, in the singular, such as ``"image"``.
    """
    return workload_of_program(build, train_program, frameworks=("tensorflow",), unit=unit, shared=FitOptions)


def train_program(build: Callable[[], KerasProgram], setting: Setting, options: FitOptions) -> Arm:
    """Return the arm each of whose steps is a call of ``Model.fit`` over a program's batches, or of ``predict``.

    The amount of work, and whether all data are used, is unknown.

    Raises:
        BadInput: the function returned something other than a program, or a program that cannot run.
        Unavailable: an option cannot apply.
    """
    from accelbench.workloads.tensorflow.training_step import LOOPS, POLICIES

    if options.dtype_policy is not None:
        check_choice(options.dtype_policy, POLICIES, "dtype policy")
    if options.loop is not None:
        check_choice(options.loop, LOOPS, "loop")
    return _FitArm(build, setting, options).arm_or_check()


@dataclass(frozen=True)
class _Iteration:
    """The program's own batches of an epoch, and the epochs, of an iteration.

    ``compares`` says whether outputs are compared, ``remarks`` why they are not, and what else is to be known.
    """

    batches: int
    epochs: int
    _: KW_ONLY
    compares: bool = True
    remarks: tuple[Reason, ...] = ()


_DECIDED: dict[tuple[Any, ...], _Iteration] = {}  # in this process, where trials have the same baseline


class _FitArm:
    """A program with its options, on its way to an arm."""

    def __init__(self, build: Callable[[], KerasProgram], setting: Setting, options: FitOptions) -> None:
        from accelbench.workloads.tensorflow import devices

        self.build, self.setting, self.options = build, setting, options
        self.device = devices.choose(options.device)
        self.is_moved = self.device != devices.choose(None)
        self.label = devices.label(self.device)

    def arm_or_check(self) -> Arm:
        """Return the arm; where options are only checked, one that is not built."""
        if self.setting.only_check:
            facts = self._check_only()
            return Arm(step=nothing, recipes=facts.recipes, own_numbers=facts.numbers)
        fitted = self._make_program()
        self._refuse(fitted.facts)
        iteration = self._iteration(fitted)
        taken = fitted.take(iteration.batches, iteration.epochs, self.options)
        arm = Arm(
            step=fitted.run,
            items=taken.items,
            reset=fitted.reset,
            reseed=fitted.reseed,
            checked_steps=2 if fitted.program.learns and taken.steps == 1 else 1,
            watched=True,
            ignore_output=not iteration.compares,
            remarks=iteration.remarks,
            device=self.label,
            contexts=(fitted.iterators.until_the_end,),
            parameters=fitted.parameters,
            recipes=fitted.facts.recipes,
            close=fitted.close,
        )
        if not self.is_moved:
            return arm
        import tensorflow as tf

        return arm.inside(tf.device, self.device)

    def _check_only(self) -> KerasProgramFacts:
        """Refuse options that cannot apply, or that the program has already; one program is enough for all of them."""
        stored = self.setting.storage.values
        if (found := stored.get(self.build)) is None:
            from accelbench.workloads.tensorflow.model_fit import FittedProgram

            fitted = FittedProgram(self.build, seed=self.setting.seed)
            found = stored[self.build] = fitted.facts
            fitted.close()
        self._refuse(found)
        return found

    def _make_program(self) -> FittedProgram:
        import tensorflow as tf

        from accelbench.workloads.tensorflow.model_fit import FittedProgram

        options = self.options
        with tf.device(self.device) if self.is_moved else nullcontext():
            return FittedProgram(
                self.build,
                seed=self.setting.seed,
                dtype_policy=options.dtype_policy,
                jit_compile=None if options.loop is None else options.loop == "xla",
                steps_per_execution=options.steps_per_execution,
            )

    def _refuse(self, facts: KerasProgramFacts) -> None:
        for objection in self._objections(facts):
            raise Unavailable(objection)

    def _objections(self, facts: KerasProgramFacts) -> Iterator[str | Reason]:
        options = self.options
        if options.log_interval is not None:
            yield "Model.fit reads the loss by itself, so log_interval could not change it"
        if options.data_location is not None:
            yield "Model.fit brings the batches from the host's memory, wherever they are used"
        if options.loop in ("eager", "fit"):
            yield "Model.fit is the loop of a Keras program: compile(run_eagerly=True) makes its steps eager"
        if options.loop == "xla" and facts.runs_eagerly:
            yield "the program's model runs eagerly, and XLA compiles graphs: leave run_eagerly out of compile()"
        if options.loop == "xla" and not facts.supports_jit:
            yield "XLA cannot compile a layer of the program's model: its supports_jit is False"
        if options.changes_pipeline and facts.data != "dataset":
            yield (
                f"Keras makes the pipeline of the program's {facts.data} by itself: return a tf.data.Dataset to "
                "compare others"
            )
        if options.batch_size and facts.data == "PyDataset":
            yield "the program's PyDataset makes its batches by itself: return one with other batches to compare them"
        if options.batch_size and facts.most_items is not None and options.batch_size > facts.most_items:
            yield reason("too-few-items", items=facts.most_items, unit="item", batch=options.batch_size)
        if self.setting.only_check and self._is_as_it_was(facts):
            yield reason("program-has-this")
        if options.prefetch is not None and facts.prefetch is not None:
            yield "the program's data set ends with a prefetch of its own: leave it out to compare others"

    def _is_as_it_was(self, facts: KerasProgramFacts) -> bool:
        """Return whether an option has the value that the program has without it."""
        from accelbench.workloads.tensorflow import devices

        options = self.options
        own = {
            "batch_size": facts.batch_size,
            "dtype_policy": facts.dtype_policy,
            "loop": "xla" if facts.jit_compile else "function",
            "steps_per_execution": facts.steps_per_execution,
            "prefetch": facts.prefetch or 0,
            "default_optimizations": facts.default_optimizations,
            "data_threads": facts.data_threads,
            "deterministic": facts.deterministic,
        }
        is_here = options.device is not None and self.device == devices.choose(None)
        return is_here or any(getattr(options, name) == value for name, value in own.items())

    def _iteration(self, fitted: FittedProgram) -> _Iteration:
        """Return what an iteration of all arms of the trial is.

        The baseline of the first visit decides, by a program that is built for this alone: the first call of the arm
        remains a cold one. Later visits are told.
        """
        setting, own = self.setting, fitted.program.batches
        key = self.build, self.options, setting.seed, setting.items, setting.compares_outputs
        decided = setting.storage.values.get(("iteration", self.build)) or _DECIDED.get(key)
        if decided is None and setting.items is not None:
            found = (own, 1) if own is not None else fitted.divide(setting.items, self.options)
            decided = _Iteration(*found, compares=setting.compares_outputs)
        elif decided is None:
            probe = self._make_program()
            try:
                decided = self._decide(probe)
            finally:
                probe.close()
        setting.storage.values["iteration", self.build] = _DECIDED[key] = decided
        return decided

    def _decide(self, probe: FittedProgram) -> _Iteration:
        own = probe.program.batches
        found = (own, 1) if own is not None else probe.fill(self.options)
        probe.take(*found, self.options)
        remarks = []
        if (spread := probe.spread()) > MOST_SPREAD:
            remarks.append(reason("program-differs", spread=spread))
        if (share := probe.start_share()) > LONG_START:
            remarks.append(reason("late-first-batch", share=share))
        return _Iteration(*found, compares=spread <= MOST_SPREAD, remarks=tuple(remarks))

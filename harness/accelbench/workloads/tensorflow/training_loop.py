"""The training loop of every Keras training workload, and the options that techniques set in it.

A workload states its model, its data and its usual values; the loop does the rest, so every technique applies to every
workload. ``KerasTrainingLoop`` alone refuses the combinations that have no meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from accelbench.core import Arm, Setting
from accelbench.errors import check_choice
from accelbench.schema.reasons import Reason
from accelbench.workloads.data.rotation import VARIANTS
from accelbench.workloads.training import Training, TrainingLoop


@dataclass(frozen=True, kw_only=True)
class KerasTrainOptions:
    """The options that techniques switch in a training. The defaults leave the workload as it is.

    ``dtype_policy`` is Keras's. ``loop`` says what runs a training step: ``"eager"``, ``"function"``, ``"xla"`` or
    ``"fit"``. ``log_interval`` 0 never reads the loss. ``data_location`` is ``"resident"`` on the device, or
    ``"round-trip"``, where every step sends its batches and fetches the loss.
    """

    batch_size: int | None = None
    learning_rate_scaling: str = "none"
    device: str | None = None
    dtype_policy: str = "float32"
    loop: str | None = None
    log_interval: int | None = None
    data_location: str | None = None


@dataclass(frozen=True, kw_only=True)
class KerasTraining(Training):
    """What is trained, on which data, and the usual values.

    The source of batches has a ``dataset`` if Model.fit can read it. ``observe`` is given the trainer and the source.
    """

    problem: Any
    has_dataset: bool = False
    loop: str = "function"
    observe: Callable[[Any, Any], Mapping[str, float]] | None = None


class KerasTrainingLoop(TrainingLoop):
    """The loop with Keras's options."""

    options: KerasTrainOptions
    training: KerasTraining

    def __init__(self, setting: Setting, options: KerasTrainOptions, training: KerasTraining) -> None:
        from accelbench.workloads.tensorflow import devices

        self.place = devices.choose(options.device)
        self.loop = options.loop or training.loop
        super().__init__(setting, options, training, devices.label(self.place))

    def check(self) -> None:
        """Refuse options that do not exist, or have no meaning for this training, each for its reason."""
        from accelbench.workloads.tensorflow import devices
        from accelbench.workloads.tensorflow.training_step import LOOPS, POLICIES

        check_choice(self.options.dtype_policy, POLICIES, "dtype policy")
        check_choice(self.loop, LOOPS, "loop")
        check_choice(self.options.data_location or "resident", devices.LOCATIONS, "data location")
        super().check()

    def _objections(self) -> Iterator[str | Reason]:
        options, training = self.options, self.training
        if options.data_location and training.has_dataset:
            yield "a tf.data pipeline brings the batches from the host's memory, wherever they are used"
        if self.loop == "fit" and not training.has_dataset:
            yield (
                "Model.fit runs whole epochs over a tf.data.Dataset, and this training takes single batches: "
                "measure dense-epoch-keras or cnn-epoch-keras"
            )
        if self.loop == "fit" and options.log_interval is not None:
            yield "Model.fit reads the loss by itself, so log_interval could not change it"

    def arm(self, **facts: Any) -> Arm:
        """Build the loop and return its arm. ``facts`` replace those that the loop states."""
        import tensorflow as tf

        arm, observe = super().arm(**facts), self.training.observe
        if observe is not None:
            arm = replace(arm, observe=lambda: observe(self.trainer, self.source))
        return arm.inside(tf.device, self.place)  # its graph is traced on the device as well

    def build(self) -> None:
        """Make the model and the batches."""
        import tensorflow as tf

        from accelbench.workloads.tensorflow.training_step import KerasTrainer

        problem = self.training.problem
        with tf.device(self.place):
            self.trainer = KerasTrainer(
                problem,
                seed=self.setting.seed,
                dtype_policy=self.options.dtype_policy,
                learning_rate_factor=self.learning_rate_factor,
                loop=self.loop,
            )
            self.source = self.training.data(self.batch_size)

    def step(self) -> Any:
        """Train on the batches of one step; return the mean loss and the last layer's weights."""
        if self.loop == "fit":
            return self.trainer.fit(self.source.dataset), *self.trainer.learnt
        if self.training.has_dataset or self.source.count > 1:  # as Model.fit does when an epoch begins
            self.trainer.model.reset_metrics()
        loss = self.train_on(self.source)
        return (loss.numpy() if self.options.data_location == "round-trip" else loss), *self.trainer.learnt

    def train_on(self, batches: Iterable[Any]) -> Any:
        """Train on one batch after another, and read the loss at its interval; return the mean loss."""
        for number, batch in enumerate(batches, start=1):
            loss = self.trainer.train_on(*batch)
            if self._reads_every and number % self._reads_every == 0:
                float(loss)  # makes the host wait for it
        return loss

    @property
    def _problem(self) -> Any:
        return self.training.problem

    @property
    def _is_resident(self) -> bool:
        return self.options.data_location != "round-trip" and not self.training.has_dataset


def train(setting: Setting, options: KerasTrainOptions, training: KerasTraining) -> Arm:
    """Return the arm of a training with these options.

    Raises:
        BadInput: an option has a value that does not exist.
        Unavailable: an option cannot apply; the message says why.
    """
    return KerasTrainingLoop(setting, options, training).arm_or_check()


def train_in_turn(
    setting: Setting,
    options: KerasTrainOptions,
    problem: Any,
    batch_size: int,
    *,
    steps: int = 1,
    variants: int = VARIANTS,
    **facts: Any,
) -> Arm:
    """Return the arm that trains on random batches in turn, ``steps`` of them in each of its steps."""
    import tensorflow as tf

    from accelbench.workloads.tensorflow.training_step import KerasBatches, draw_batches

    def data(size: int) -> KerasBatches:
        batches = draw_batches(problem, size, variants, setting.seed)
        if options.data_location != "round-trip":
            batches = [tuple(map(tf.constant, batch)) for batch in batches]
        return KerasBatches(batches, per_step=steps)

    return train(setting, options, KerasTraining(problem=problem, data=data, batch_size=batch_size, **facts))


def train_epochs(setting: Setting, options: KerasTrainOptions, problem: Any, batch_size: int, steps: int) -> Arm:
    """Return the arm each of whose steps is an epoch of ``steps`` batches over a ``tf.data.Dataset``."""
    from accelbench.workloads.tensorflow.iterators import HeldIterators
    from accelbench.workloads.tensorflow.training_step import DatasetEpochs, draw_batches

    iterators = HeldIterators()

    def data(size: int) -> DatasetEpochs:
        return DatasetEpochs(draw_batches(problem, size, VARIANTS, setting.seed), count=steps, iterators=iterators)

    training = KerasTraining(problem=problem, data=data, batch_size=batch_size, has_dataset=True)
    return train(setting, options, training).inside(iterators.until_the_end)

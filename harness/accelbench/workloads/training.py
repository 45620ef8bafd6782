"""What the training loops of all frameworks have in common: the facts of a training, and the arm that it becomes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from accelbench.core import Arm, Setting, Work
from accelbench.core.arm import nothing
from accelbench.errors import BadInput, Unavailable, check_choice
from accelbench.schema.reasons import Reason, reason

MOST_SPREAD = 5e-3  # of a loss between two runs; ten times as much is the most by which checks widen a tolerance

# By which factor the learning rate follows the batch, from how many times the usual batch it is.
LEARNING_RATE_SCALING: dict[str, Callable[[float], float]] = {
    "none": lambda _: 1.0,
    "sqrt": math.sqrt,
    "linear": lambda times: times,
}

_MODELS: WeakValueDictionary[int, Any] = WeakValueDictionary()  # of users' programs in this process, by `id`


def require_new_model(model: Any) -> None:
    """Check that no program before had this model, or this part of one, such as the first weights that are learnt.

    Raises:
        BadInput: one had it; what is measured of either would change the other's weights.
    """
    if _MODELS.get(id(model)) is model:
        raise BadInput(
            "the function returned the same model twice, and whatever is compared needs weights of its own: make the "
            "model and its optimizer inside the function"
        )
    _MODELS[id(model)] = model


def as_list(values: Any) -> list[Any]:
    """Return what may be one value, a list or tuple of several, or None for none."""
    if values is None:
        return []
    return list(values) if isinstance(values, list | tuple) else [values]


@dataclass(frozen=True, kw_only=True)
class Training:
    """On which data a model is trained, and the usual values of options.

    ``data`` makes the source of batches of a size: an iterable of the batches of one step, with their number ``count``
    and that of their ``items``, and what shows, feeds and restarts its inputs. ``most`` is the number of items that an
    epoch has at most. With ``counts_steps``, throughput counts batches in place of items.
    """

    data: Callable[[int], Any]
    batch_size: int
    most: int | None = None
    log_interval: int = 0
    counts_steps: bool = False


class TrainingLoop(ABC):
    """A training with its options: an epoch, or one batch where batches come in turn, is a step.

    ``device`` is the label of the device. ``build`` makes the ``trainer``, which has the model, and the ``source`` of
    batches.

    Raises:
        BadInput: an option has a value that does not exist.
        Unavailable: an option cannot apply; the message says why.
    """

    options: Any
    training: Any
    trainer: Any
    source: Any

    def __init__(self, setting: Setting, options: Any, training: Any, device: str) -> None:
        self.setting, self.options, self.training, self.label = setting, options, training, device
        self.batch_size = self._batch_size()
        self._reads_every = training.log_interval if options.log_interval is None else options.log_interval
        self.check()

    def check(self) -> None:
        """Refuse options that have no meaning for this training, each for its reason."""
        scaling = self.options.learning_rate_scaling
        check_choice(scaling, LEARNING_RATE_SCALING, "scaling of the learning rate")
        for objection in self._objections():
            raise Unavailable(objection)
        if scaling != "none" and not self.learns_otherwise:
            raise Unavailable(reason("usual-batch", batch=self.batch_size))
        most = self.training.most
        if most is not None and self.batch_size > most:
            raise Unavailable(reason("too-few-items", items=most, unit="item", batch=self.batch_size))

    def arm(self, **facts: Any) -> Arm:
        """Build the loop and return its arm. ``facts`` replace those that the loop states."""
        self.build()
        source = self.source
        stated: dict[str, Any] = {
            "step": self.step,
            "items": source.count if self.training.counts_steps else source.items,
            "reset": self.reset,
            "checked_steps": self.checked_steps,
            "device": self.label,
            "parameters": self.trainer.parameters,
            "inputs": source.inputs,
            "feed": source.feed,
            "work": self.work(source.items),
            "close": source.close,
            "recipes": self.recipes,
        }
        return Arm(**stated | facts)

    def arm_or_check(self) -> Arm:
        """Return the arm; where options are only checked, which they are by now, one that is not built."""
        if not self.setting.only_check:
            return self.arm()
        return Arm(step=nothing, recipes=self.recipes, own_numbers=self.own_numbers)

    @property
    def recipes(self) -> Mapping[str, Mapping[str, str]]:
        """What a user writes for techniques, by technique and level, where they say something else themselves."""
        return {}

    @property
    def own_numbers(self) -> Mapping[str, int]:
        """The numbers that a user's program has for options by itself."""
        return {}

    @property
    def learns_otherwise(self) -> bool:
        """Whether it learns from other batches than the usual ones, and so becomes another model by design."""
        usual: int = self.training.batch_size
        return self.batch_size != usual

    @property
    def learning_rate_factor(self) -> float:
        """By how much the learning rate differs from that of the usual batch size."""
        times = self.batch_size / self.training.batch_size
        return LEARNING_RATE_SCALING[self.options.learning_rate_scaling](times)

    @abstractmethod
    def build(self) -> None:
        """Make the trainer and the source of batches."""

    @abstractmethod
    def step(self) -> Any:
        """Train on the batches of one step, and return what is checked."""

    @property
    def checked_steps(self) -> int:
        """The steps after which the output is checked: the second batch's shows what the first one taught."""
        return 2 if self.source.count == 1 else 1

    def reset(self) -> None:
        """Return to the first weights and the first batch."""
        self.trainer.reset()
        self.source.restart()

    def work(self, items: int) -> Work | None:
        """Return the work of learning from ``items`` items, None where it is not known."""
        problem = self._problem
        if problem is None:
            return None
        items_bytes = items * problem.item_bytes
        is_sent = not self._is_resident and self.label != "cpu"
        work: Work = self.trainer.work(
            problem.network,
            items,
            read_bytes=items_bytes if self.source.count == 1 else 0,  # else they may stay in a cache
            sent_bytes=items_bytes if is_sent else 0,
        )
        return work

    @property
    @abstractmethod
    def _problem(self) -> Any:
        """The problem that is learnt, None where nothing is known of it."""

    @property
    @abstractmethod
    def _is_resident(self) -> bool:
        """Whether batches lie on the device before the clock starts."""

    @abstractmethod
    def _objections(self) -> Iterator[str | Reason]:
        """Yield why options cannot apply."""

    def _batch_size(self) -> int:
        size: int = self.options.batch_size or self.training.batch_size
        return size

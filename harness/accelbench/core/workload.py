"""A workload: what is computed, declared as a function that builds an arm."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from accelbench.core.arm import Arm, require_arm
from accelbench.core.technique import place_of_caller, refuse_taken_name, summary_of
from accelbench.errors import BadInput, Unavailable
from accelbench.schema.reasons import reason
from accelbench.text import did_you_mean, hyphenate

Size = Literal["small", "full"]


class TrialStorage:
    """What builders store in one build of a trial's arms for the next; it lives as long as the trial's setting.

    It stays in its process: a pickled copy is empty.
    """

    def __init__(self) -> None:
        self.values: dict[object, Any] = {}

    def __reduce__(self) -> tuple[type[TrialStorage], tuple[()]]:
        return TrialStorage, ()


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a run passes to every workload: the size of the problem, the user's data, the seed.

    ``size`` is ``"small"`` or ``"full"``. ``seed`` is that of random inputs and weights. ``data_dir`` is the user's own
    folder of images, None for images that accelbench makes. ``cores`` may be used by this process. ``items`` is the
    number of items that an iteration of the baseline had in an earlier visit of the trial: a workload that chooses this
    number by itself chooses the same again. ``compares_outputs`` is False if that visit found that they do not repeat.

    ``storage`` belongs to one trial, and is ignored when settings are compared. With ``only_check``, builders of
    programs and those that take shared options refuse options that cannot apply, and return before they build anything.
    """

    size: Size = "small"
    seed: int = 0
    data_dir: Path | None = None
    cores: int = 1
    items: float | None = field(default=None, compare=False)
    compares_outputs: bool = field(default=True, compare=False)
    only_check: bool = False
    storage: TrialStorage = field(default_factory=TrialStorage, compare=False, repr=False)

    def choose(self, *, small: Any, full: Any) -> Any:
        """Return the value for this run's size: ``small`` suits two cores, ``full`` a data-centre GPU."""
        return full if self.size == "full" else small


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A named builder of arms.

    ``name`` and ``summary`` appear in reports. ``frameworks`` are the adapters under which it runs. ``unit`` names the
    item that throughput counts, in the singular. ``builder`` receives a :class:`Setting` and the options by keyword.
    ``place`` is the file and line of the declaration.

    ``is_program`` says that it is a user's program, whose baseline is the program as it stands. ``load`` imports what
    the builder needs. A worker calls it first, so that what the import sets in the process holds for every arm.

    ``shared`` is the dataclass of the options that all workloads of a kind accept, such as all PyTorch trainings. The
    builder receives an instance of it as its second argument. Its class variable ``superseded``, if it has one, maps
    techniques that are not offered for a user's program to the reason, such as another technique that sets the same.
    """

    name: str
    frameworks: tuple[str, ...]
    unit: str
    summary: str
    builder: Callable[..., Arm]
    shared: type | None = None
    is_program: bool = False
    load: Callable[[], object] | None = field(default=None, compare=False)
    place: str = field(default="", compare=False)

    @property
    def options(self) -> frozenset[str]:
        """Names of the accepted options: keyword-only parameters of the builder, and the fields of ``shared``."""
        parameters = inspect.signature(self.builder).parameters.values()
        return frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY) | self._shared_names

    @property
    def superseded(self) -> Mapping[str, str]:
        """The techniques that are not offered for a user's program, with the reasons."""
        found: Mapping[str, str] = getattr(self.shared, "superseded", {})
        return found

    @property
    def _shared_names(self) -> frozenset[str]:
        return frozenset(each.name for each in fields(self.shared)) if self.shared else frozenset()

    def build(self, setting: Setting, **options: Any) -> Arm:
        """Build an arm.

        Raises:
            Unavailable: the workload does not accept an option, so the technique does not apply to it.
            BadInput: the builder returned something else than an arm.
        """
        if unknown := sorted(options.keys() - self.options):
            raise Unavailable(reason("no-option", workload=self.name, option=repr(unknown[0])))
        shared = {name: options.pop(name) for name in self._shared_names & options.keys()}
        made = self.builder(setting, *([self.shared(**shared)] if self.shared else []), **options)
        return require_arm(made, f"the builder of {self.name}", "it must end with return Arm(step=...)")


@dataclass(frozen=True, kw_only=True)
class Program:
    """A user's own program: a PyTorch model that learns from batches, or only computes with them.

    One of two functions does the work of a batch, which the suite has sent to the device:

    - ``step(model, batch)`` returns the loss, a tensor of one number. The suite makes the backward pass and a step of
      ``optimizer``, which holds the model's parameters. Without an optimizer the model does not learn: ``step`` runs
      without gradients, and may return any tensor.
    - ``train_step(batch)`` does the forward pass, the backward pass and the optimizer's step itself, and returns the
      loss, or a tuple or dictionary of losses. It may clip gradients, accumulate them, or step a scheduler and several
      optimizers.

    ``model`` is a ``torch.nn.Module``; several models are one as a ``torch.nn.ModuleList``. ``optimizer`` is one
    optimizer or a sequence of them, and must be given beside ``train_step``: ``()`` says that there is none. ``state``
    holds whatever else changes while the program learns: objects with ``state_dict`` and ``load_state_dict``, such as
    schedulers. All of them return to their first state before outputs are compared.

    ``loader`` is a ``torch.utils.data.DataLoader``, or anything else that yields the batches of an epoch each time that
    it is iterated. The baseline is the program as it stands: its batch size, worker processes and pinned memory. An
    iteration is an epoch of at most ``batches`` batches; None lets the first arm of a trial choose their number by the
    time that they take.

    ``recipes`` are what advice tells to write for techniques in this program, by technique and level, where they say
    something else: ``{"amp": {"bf16": "Accelerator(mixed_precision='bf16')"}}``. ``"*"`` stands for every level, and
    ``{level}`` in the code for the level.
    """

    model: Any
    loader: Any
    step: Callable[[Any, Any], Any] | None = None
    train_step: Callable[[Any], Any] | None = None
    optimizer: Any = None
    state: Sequence[Any] = ()
    batches: int | None = None
    recipes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ArrayProgram:
    """A user's own program that computes with arrays, written for any array library.

    ``step(xp, *arrays)`` computes and returns one or several arrays. ``xp`` is the namespace of NumPy, CuPy or PyTorch,
    with the names of Python's array API standard (https://data-apis.org/array-api) and the library's own: a step that
    uses no others runs in all of them. ``arrays`` are NumPy arrays, and numbers, which the suite brings to the memory
    of the library. Every step begins with these arrays. If it writes into them, it is given copies, and copying is part
    of its time. A step that makes its own arrays needs none.

    ``items`` is how many items one step processes, such as cells or interactions.
    """

    step: Callable[..., Any]
    arrays: Sequence[Any] = ()
    items: float = 1


@dataclass(frozen=True, kw_only=True)
class KerasProgram:
    """A user's own Keras program: a compiled model that learns from its data by ``Model.fit``, or only predicts.

    ``model`` is a compiled ``keras.Model``. ``data`` is a ``tf.data.Dataset`` of batches, a ``keras.utils.PyDataset``,
    or arrays as ``fit`` takes them: ``x``, ``(x, y)`` or ``(x, y, sample_weight)``, which Keras divides into batches of
    ``batch_size``, 32 without one. Without ``learns``, the model predicts and need not be compiled.

    ``fit`` holds further arguments of ``Model.fit``, each time that it is called: ``callbacks``, ``class_weight``, and
    ``shuffle`` for arrays. Callbacks that are not there do not run, nor does validation, and nothing is printed.

    The baseline is the program as it stands. An iteration is a call of ``fit``, or of ``predict``, over the first
    ``batches`` batches of the data, or over several epochs if these are short; None takes as many as fit into half a
    second.
    """

    model: Any
    data: Any
    batch_size: int | None = None
    fit: Mapping[str, Any] = field(default_factory=dict)
    learns: bool = True
    batches: int | None = None


_WORKLOADS: dict[str, Workload] = {}


def workload(*frameworks: str, unit: str, shared: type | None = None) -> Callable[[Callable[..., Any]], Workload]:
    """Declare a workload; its name is the function's with dashes, its options are the keyword-only parameters.

    Args:
        frameworks: names of the adapters under which it runs, such as ``"torch"``.
        unit: the item that throughput counts, in the singular, such as ``"image"``.
        shared: a dataclass whose fields are further options; the function receives an instance as second argument.

    Raises:
        BadInput: there is another workload of this name, or an option is no keyword-only parameter.
    """
    place = place_of_caller()

    def declare(declared: Callable[..., Any]) -> Workload:
        _require_keyword_options(declared, given=2 if shared else 1)
        return register_workload(
            Workload(
                name=hyphenate(declared.__name__),
                frameworks=frameworks,
                unit=unit,
                summary=summary_of(declared),
                builder=declared,
                shared=shared,
                place=place,
            )
        )

    return declare


def _require_keyword_options(declared: Callable[..., Any], given: int) -> None:
    """Refuse parameters that are neither among the first, which are ``given``, nor options."""
    parameters = list(inspect.signature(declared).parameters.values())
    if loose := [each for each in parameters[given:] if each.kind is not each.KEYWORD_ONLY]:
        name = loose[0].name
        raise BadInput(
            f"workload {hyphenate(declared.__name__)}: the parameter {name!r} is no option, since options are "
            "keyword-only; put a * before it, as in (setting, *, size=1)"
        )


def register_workload(declared: Workload) -> Workload:
    """Add a workload to the catalogue and return it: for families of workloads that share a builder.

    Raises:
        BadInput: there is another workload of this name.
    """
    declared = declared if declared.place else replace(declared, place=place_of_caller())
    refuse_taken_name(f"workload {declared.name!r}", declared.place, lambda: _WORKLOADS.get(declared.name))
    _WORKLOADS[declared.name] = declared
    return declared


def workload_of_program(
    build: Callable[[], Any],
    builder: Callable[..., Arm],
    *,
    frameworks: tuple[str, ...],
    unit: str,
    shared: type | None = None,
) -> Workload:
    """Return the workload of a user's program, which ``build`` makes; the builder of arms receives ``build`` first."""
    name = f"{build.__module__.rpartition('.')[2]}:{build.__name__}"
    return Workload(
        name=name,
        frameworks=frameworks,
        unit=unit,
        summary=summary_of(build) or name,
        builder=partial(builder, build),
        shared=shared,
        is_program=True,
    )


def import_installed(module: str, install: str) -> Any:
    """Return a module of a package that not everybody has: builders import by this what they need.

    Raises:
        Unavailable: the package is not installed; the message says what pip must ``install``.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise Unavailable(reason("not-installed", package=str(error.name), install=install)) from None


def declared_workloads() -> tuple[Workload, ...]:
    """Return every declared workload, by name."""
    return tuple(_WORKLOADS[name] for name in sorted(_WORKLOADS))


def declared_frameworks() -> list[str]:
    """Return every framework in which a declared workload runs."""
    return list(dict.fromkeys(name for work in declared_workloads() for name in work.frameworks))


def find_workload(name: str) -> Workload:
    """Return the declared workload of that name.

    Raises:
        BadInput: no workload has this name; the message lists those that exist.
    """
    try:
        return _WORKLOADS[name]
    except KeyError:
        known = ", ".join(sorted(_WORKLOADS)) or "none are declared"
        meant = did_you_mean(name, {each: each for each in _WORKLOADS})
        raise BadInput(f"unknown workload {name!r}; expected one of: {known}{meant}") from None

"""A technique: one thing that a user can switch, declared once, in about ten lines."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from accelbench.core.arm import Arm, require_arm
from accelbench.errors import AccelbenchError, BadInput, BadLevels
from accelbench.schema.reasons import describe_error
from accelbench.schema.result import AS_IS
from accelbench.schema.result import GROUPS as GROUPS
from accelbench.text import did_you_mean
from accelbench.user_code import PACKAGE

Kind = Literal["switch", "sweep", "device", "ablation"]

MAX_BATCH = {"small": 64, "full": 1024}  # the largest batch size to try on a CPU, by the size of the problems
PACKAGE_NAME = __name__.partition(".")[0]
_LEVELS_ARE = "levels are a tuple of texts, such as ('off', 'on')"
_BY_LEVEL = ("tolerance", "snippet", "not_recommended", "environment")  # arguments that map levels
_WITHOUT_STAR = ("environment", "compiles", "same_output")  # arguments in which "*" stands for no level
ROUNDING = 1e-4  # relative error that a different order of the same float32 operations may cost


class Build(Protocol):
    """What a technique is given: a workload that is ready to be built."""

    def __call__(self, **options: Any) -> Arm:
        """Build the workload with these options, besides those that other techniques and the test have set.

        Raises:
            Unavailable: the workload has no such option, or the option cannot apply on this machine.
        """


@dataclass(frozen=True, kw_only=True)
class Host:
    """What the levels of a technique may depend on: this machine's hardware and the run's limits.

    ``cores`` may be used by this process. ``accelerators`` are the framework's names of them, such as ``"cuda:0"``.
    ``size`` is ``"small"`` or ``"full"``. ``max_batch`` and ``max_workers`` are the most items of a batch, and the most
    loader processes, that a sweep tries.
    """

    cores: int = 1
    accelerators: tuple[str, ...] = ()
    size: str = "small"
    max_batch: int = 64
    max_workers: int = 1


class Levels(Protocol):
    """Levels that depend on the machine."""

    def __call__(self, host: Host) -> tuple[str, ...]:
        """Return the levels on this machine, baseline first."""


@dataclass(frozen=True)
class Declaration:
    """What a declaration states of a technique.

    Args:
        framework: in which it can be switched: ``"torch"``, ``"tensorflow"``, ``"cupy"`` or ``"numpy"``.
        levels: names of the levels, baseline first, or a function that returns them for a :class:`Host`.
        tolerance: relative numeric error, against the baseline, that a level, or ``"*"`` for every candidate level,
            may cost.
        environment: the variables with which the worker process of a level must start; a technique that has any is
            compared between workers.
        parallelism: returns how many cores, processes or devices a level uses, for a technique that switches their
            number; a speedup larger than their growth is doubtful.
        same_output: whether all levels compute the same, which levels such as batch sizes do not by design, or the
            names of those that do. The outputs of the others are checked only for themselves.
        snippet: the code that a user writes for a level, or for ``"*"``, every level. ``{level}`` in it stands for the
            level, ``{device}`` for a device's kind. A level without a snippet is never recommended.
        aliases: what else people call it: the option that they set, the function that they call, the field's word for
            it, such as ``"num_workers"`` or ``"mixed precision"``. By them the technique is found: by ``accelbench
            list``, by pytest's ``-k`` and on the page.
        group: under which heading reports show it: one of :data:`GROUPS`, or a heading of your own.
        not_recommended: why a level without a snippet, or ``"*"``, is never recommended.
        compiles: levels that are compiled, for seconds or minutes, when they are first called.
        memory_grows: whether levels are numbers of which larger ones take more memory: if one ran out of memory, larger
            ones are not tried.
        kind: what reports draw. A "sweep" has levels that are numbers. A "device" has the framework's devices as
            levels. An "ablation" takes a part of the work away, which explains where the time goes and is nothing to
            choose. Everything else is a "switch".
        deterministic: the level at which the framework uses only algorithms that repeat bit by bit.
        is_usual: returns whether a process that sets nothing has a level already. It is asked in a worker.
        often_pays: whether it pays in many programs, so that advice tries it before others.

    Raises:
        BadInput: ``snippet``, ``not_recommended`` or ``aliases`` hold something other than texts.
    """

    framework: str
    _: KW_ONLY
    levels: tuple[str, ...] | Levels
    tolerance: Mapping[str, float] = field(default_factory=dict)
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    parallelism: Callable[[str], int] | None = None
    same_output: bool | tuple[str, ...] = True
    snippet: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    group: str = "other"
    not_recommended: Mapping[str, str] = field(default_factory=dict)
    compiles: tuple[str, ...] = ()
    memory_grows: bool = False
    kind: Kind = "switch"
    deterministic: str = ""
    is_usual: Callable[[str], bool] | None = None
    often_pays: bool = False

    def __post_init__(self) -> None:
        for name, given in (("snippet", self.snippet), ("not_recommended", self.not_recommended)):
            if not isinstance(given, Mapping) or not all(isinstance(text, str) for text in given.values()):
                raise BadInput(f'{name} is {given!r:.80}; expected a text for each level, such as {{"on": "..."}}')
        if isinstance(self.aliases, str) or not all(isinstance(alias, str) for alias in self.aliases):
            raise BadInput(f'aliases are {self.aliases!r:.80}; expected a tuple of texts, such as ("num_workers",)')


class technique(Declaration):  # noqa: N801  a decorator
    """Declare a technique; its name is the function's, its summary the docstring's first line.

    The function receives ``build``, which takes the workload's options and returns an :class:`Arm`, and the level. It
    passes an option on, or wraps the arm it gets with :meth:`Arm.inside`. The arguments are those of
    :class:`Declaration`.

    Raises:
        BadInput: the framework has another technique of this name, the levels are fewer than two different ones, the
            kind is none, or another argument names a level that the technique does not have.
    """

    def __call__(self, apply: Callable[[Build, str], Arm]) -> Technique:
        """Return the technique that the function applies."""
        place = place_of_caller()
        if isinstance(self.levels, tuple) and len(set(map(str, self.levels))) < max(2, len(self.levels)):
            raise BadInput(
                f"technique {apply.__name__} has the levels {self.levels!r:.80}; expected two or more different ones, "
                "the baseline first, such as ('off', 'on')"
            )
        _require_consistent(self, f"technique {apply.__name__}")
        declared = Technique(**vars(self), name=apply.__name__, summary=summary_of(apply), apply=apply, place=place)
        register_techniques(declared)
        return declared


def _require_consistent(declared: Declaration, who: str) -> None:
    """Check the kind of a declaration, and the levels that it names beside those that it lists.

    Raises:
        BadInput: there is no such kind, an argument has another form, or it names a level that is not listed.
    """
    if declared.kind not in get_args(Kind):
        raise BadInput(f"{who} has the kind {declared.kind!r:.80}; expected one of: {', '.join(get_args(Kind))}")
    for argument in _BY_LEVEL:
        if not isinstance(given := getattr(declared, argument), Mapping):
            raise BadInput(f"{who}: {argument} is {given!r:.80}; expected a value for each level, by its name")
    for argument, kind in (("compiles", tuple), ("same_output", tuple | bool)):
        if not isinstance(given := getattr(declared, argument), kind):
            raise BadInput(f"{who}: {argument} is {given!r:.80}; expected a tuple of levels, such as ('on',)")
    for argument in (*_BY_LEVEL, "compiles", "same_output"):
        _require_listed(declared, argument, who)


def _require_listed(declared: Declaration, argument: str, who: str) -> None:
    """Refuse a level that an argument names and the declaration does not list, unless levels depend on the machine."""
    named, levels = getattr(declared, argument), declared.levels
    if isinstance(named, bool) or not isinstance(levels, tuple):
        return
    known = levels if argument in _WITHOUT_STAR else (*levels, "*")
    if unknown := [level for level in named if level not in known]:
        expected = ", ".join(map(str, known))
        raise BadInput(f"{who}: {argument} names the level {unknown[0]!r:.80}; expected some of: {expected}")


@dataclass(frozen=True, kw_only=True)
class Technique(Declaration):
    """A switch with named levels, the first of which is the baseline; ``summary`` says in one line what it switches.

    ``name`` is what tests and results call it. ``apply`` builds the arm at a level, as :class:`technique` describes.
    ``place`` is the file and line of the declaration.
    """

    name: str
    summary: str
    apply: Callable[[Build, str], Arm]
    place: str = field(default="", compare=False)

    def compared_at(self, level: str) -> bool:
        """Return whether this level must compute what the baseline computes."""
        if level == AS_IS:
            return True
        return level in self.same_output if isinstance(self.same_output, tuple) else self.same_output

    def computes(self, level: str) -> str:
        """Return a name for the output of a candidate level, "" for the baseline's: levels of one name must agree."""
        return "" if self.compared_at(level) else level

    def tolerance_at(self, level: str) -> float:
        """Return the relative numeric error that this level may cost."""
        if level == AS_IS:
            return ROUNDING
        return self.tolerance.get(level, self.tolerance.get("*", ROUNDING))

    def snippet_at(self, level: str, device: str = "cpu") -> str:
        """Return the code that a user writes for this level, "" if there is nothing to change."""
        if level == AS_IS:
            return ""
        written = self.snippet.get(level, self.snippet.get("*", ""))
        return written.replace("{level}", level).replace("{device}", device)

    def written_as(self, recipes: Mapping[str, str]) -> Technique:
        """Return the technique with other code that a user writes for these levels, or for ``"*"``, every level."""
        return replace(self, snippet={**self.snippet, **recipes}) if recipes else self

    def why_not_recommended(self, level: str) -> str:
        """Return why this level is never recommended, "" if it may be."""
        if level in self.snippet or "*" in self.snippet:
            return ""
        return self.not_recommended.get(
            level, self.not_recommended.get("*", "its declaration does not say what to write for it")
        )

    @property
    def scope(self) -> Literal["arm", "process"]:
        """Whether its levels can live in one process, or need processes that start differently."""
        return "process" if self.environment else "arm"

    def levels_on(self, host: Host) -> tuple[str, ...]:
        """Return the levels offered on this machine, baseline first.

        Raises:
            BadLevels: they are no texts, or the function that lists them raised.
        """
        whose = f"the levels of technique {self.name} ({self.place or self.framework})"
        try:
            levels: Any = self.levels(host) if callable(self.levels) else self.levels
            listed = levels if isinstance(levels, str) else tuple(levels)
        except AccelbenchError:
            raise
        except Exception as error:
            raise BadLevels(f"{whose} cannot be listed ({describe_error(error)}); {_LEVELS_ARE}") from None
        if isinstance(listed, str):
            raise BadLevels(f"{whose} are the text {listed!r}; {_LEVELS_ARE}")
        for level in listed:
            if not isinstance(level, str) or not level:
                given = f"{level!r:.80}".partition("\n")[0]
                raise BadLevels(f"{whose} contain {given} of type {type(level).__name__}; {_LEVELS_ARE}")
        # A member of an enumeration of texts counts as its text, and levels that are alike on this machine as one.
        return tuple(dict.fromkeys(str.__str__(level) for level in listed))

    def require_levels(self, chosen: Iterable[str], who: str) -> None:
        """Check the levels that ``who``, such as a test, chooses.

        A level that depends on the machine is not refused: the arm is skipped with a reason if the machine lacks it.

        Raises:
            BadInput: the technique has no such level; the message lists those that it has.
        """
        if isinstance(self.levels, tuple) and (unknown := [each for each in chosen if each not in self.levels]):
            known = ", ".join(map(str, self.levels))
            raise BadInput(f"{who}: {self.name} has no level {unknown[0]!r}; expected some of: {known}")

    def require_level_on(self, host: Host, level: str, who: str) -> None:
        """Check a level that ``who``, such as an option, names; where levels are numbers, any whole number is one.

        Raises:
            BadInput: the technique has no such level on this host.
        """
        levels = self.levels_on(host)
        if not all(each.isdecimal() for each in levels):
            self.require_levels([level], who)
            return
        least = min([1, *map(int, levels)])
        if not level.isdecimal() or int(level) < least:
            raise BadInput(f"{who}: {self.name} must be a whole number from {least}, got {level!r}")


_TECHNIQUES: dict[tuple[str, str], Technique] = {}


def register_techniques(*declared: Technique) -> None:
    """Add techniques to the catalogue: those declared in this process, and those that a worker receives with a trial.

    Raises:
        BadInput: the framework has another technique of this name.
    """
    for each in declared:
        key = each.framework, each.name
        refuse_taken_name(f"technique {each.name!r} of {each.framework}", each.place, partial(_TECHNIQUES.get, key))
        _TECHNIQUES[key] = each


def place_of_caller() -> str:
    """Return the file and line from which the calling function was called."""
    frame = sys._getframe(2)  # noqa: SLF001  as namedtuple does
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def summary_of(function: Callable[..., Any]) -> str:
    """Return the first line of a function's docstring, "" without one."""
    return (inspect.getdoc(function) or "").split("\n")[0]


def load_builtins() -> None:
    """Declare the techniques and workloads that accelbench brings."""
    # By name: the vocabulary is imported by both, and stays independent of them.
    for room in ("techniques", "workloads"):
        import_module(f"{PACKAGE_NAME}.{room}")


def refuse_taken_name(what: str, place: str, find: Callable[[], Any]) -> None:
    """Refuse a declaration that would replace another one, accelbench's own or a user's, in whatever order they come.

    A module that is imported again may repeat its declarations, and a cell of a notebook, which is in no file, may
    change them.

    Args:
        what: the name of what is declared, for the message.
        place: file and line of the declaration; empty for one that accelbench makes for itself, which is not checked.
        find: returns what is declared under this name already, or None.

    Raises:
        BadInput: the name is taken; the message has both places.
    """
    if not place:
        return
    if not is_builtin(place):
        load_builtins()
    existing = find()
    if existing is None or existing.place in ("", place):
        return
    is_own = is_builtin(existing.place)
    if not is_own and not _file_of(place).is_file():
        return
    owner = "accelbench has" if is_own else "there is"
    raise BadInput(
        f"{what} is declared in {place}, but {owner} one of this name, declared in {existing.place}; "
        "give yours another name"
    )


def is_builtin(place: str) -> bool:
    """Return whether a place is in accelbench's own code."""
    return _file_of(place).is_relative_to(PACKAGE)


def _file_of(place: str) -> Path:
    return Path(place.rpartition(":")[0])


def find_technique(framework: str, name: str, who: str = "") -> Technique:
    """Return the declared technique.

    Raises:
        BadInput: the framework has no technique of this name; the message begins with ``who``, such as a test,
            and lists those it has, or if it has none, the frameworks that have some.
    """
    try:
        return _TECHNIQUES[framework, name]
    except KeyError:
        unknown = f"unknown technique {name!r} for {framework}"
        if known := sorted(n for f, n in _TECHNIQUES if f == framework):
            expected = f"; expected one of: {', '.join(known)}{suggest_technique(framework, name)}"
        else:
            expected = _suggest_framework(framework)
        raise BadInput(f"{f'{who}: ' if who else ''}{unknown}{expected}") from None


def _suggest_framework(framework: str) -> str:
    """Return which frameworks have techniques, as the end of a message about one that has none."""
    having = sorted({of for of, _ in _TECHNIQUES})
    meant = did_you_mean(framework, {each: each for each in having})
    return f", which has no techniques; frameworks that have some: {', '.join(having) or 'none'}{meant}"


def suggest_technique(framework: str, name: str) -> str:
    """Return which technique of the framework a name may mean, as the end of a message: ``; did you mean amp?``.

    A name may be an alias, a level, or misspelt. The text is empty where none is near.
    """
    wanted, declared = plain_words(name), declared_for(framework)
    if alike := [each.name for each in declared if wanted in map(plain_words, each.aliases)]:
        return f"; {name} is {' or '.join(alike)} here"
    if having := [
        each.name for each in declared if not callable(each.levels) and wanted in map(plain_words, each.levels)
    ]:
        return f"; {name} is a level of {' and of '.join(having)}"
    spelt = {plain_words(text): each.name for each in declared for text in (*each.aliases, each.name)}
    return did_you_mean(wanted, spelt)


def plain_words(text: str) -> str:
    """Return a text as lower-case words, by which names are compared: ``torch.compile`` becomes ``torch compile``."""
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def declared_for(framework: str) -> tuple[Technique, ...]:
    """Return the framework's techniques in the order of their declarations."""
    return tuple(each for (of, _), each in _TECHNIQUES.items() if of == framework)


def is_technique(framework: str, name: str) -> bool:
    """Return whether the framework has a technique of this name."""
    return (framework, name) in _TECHNIQUES


def apply_all(techniques: Iterable[tuple[Technique, str]], build: Build) -> Arm:
    """Build an arm with every technique applied at its level, the first one outermost; none at ``AS_IS``."""
    for switch, level in reversed([pair for pair in techniques if pair[1] != AS_IS]):
        build = _wrap(switch, level, build)
    return build()


def apply_levels(framework: str, levels: Mapping[str, str], build: Build) -> Arm:
    """Build an arm with a framework's techniques applied at these levels, by name, the first one outermost.

    Raises:
        BadInput: the framework has no such technique.
    """
    return apply_all([(find_technique(framework, name), level) for name, level in levels.items()], build)


def environment_of(framework: str, levels: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which the worker of an arm at these levels must start.

    Raises:
        BadInput: the framework has no such technique.
    """
    techniques = [(find_technique(framework, name), level) for name, level in levels.items()]
    return {key: text for technique, level in techniques for key, text in technique.environment.get(level, {}).items()}


def _wrap(switch: Technique, level: str, build: Build) -> Build:
    def wrapped(**options: Any) -> Arm:
        def inner(**more: Any) -> Arm:
            if twice := sorted(options.keys() & more.keys()):
                raise BadInput(
                    f"technique {switch.name} sets the option {twice[0]!r}, and another technique of this arm sets it "
                    "too; leave one of the two out"
                )
            return build(**options, **more)

        made = switch.apply(inner, level)
        return require_arm(made, f"technique {switch.name} at level {level}", "it must end with return build(...)")

    return wrapped

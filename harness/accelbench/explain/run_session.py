"""The explanation of a run: what profiles of its baselines allow, and why some of its effects came about.

Effects that a reader would ask about are explained by a second profile, with the technique: those that are slower, and
those that surpass what the baseline's profile allows.
"""

from __future__ import annotations

import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import accelbench.techniques  # noqa: F401  fills the catalogue
from accelbench.advise.time_limit import TimeLimit
from accelbench.core import Levels, Setting, find_workload
from accelbench.core.technique import is_technique
from accelbench.errors import AccelbenchError, BadInput, Unavailable
from accelbench.explain.parts import read_part
from accelbench.explain.prediction import predict, predictable_techniques
from accelbench.explain.profile import Profile
from accelbench.explain.profile_worker import find_profiler, profile_in, start_workers
from accelbench.explain.request import ExplanationRequest
from accelbench.explain.why import LISTED, TechniqueExplanation, write_reasons
from accelbench.machine_lock import hold_machine
from accelbench.measuring.workers.process import Worker
from accelbench.schema import environment
from accelbench.schema.machine_id import machine_key
from accelbench.schema.reasons import message_or_type
from accelbench.schema.result import ArmRecord, Effect, Run, TrialRecord
from accelbench.schema.run_explanation import (
    SCHEMA_VERSION,
    Asked,
    EffectOfRun,
    ExplainedEffect,
    PredictedEffect,
    RunExplanation,
)
from accelbench.text import format_case, format_levels, hyphenate, join_names, name_tests
from accelbench.units import significant

PREDICTING_SHARE = 0.6  # of the budget, after which effects are explained before more baselines are profiled
LONGEST = 1.1  # times the budget, after which a profile is cut short
DISTURBED = 2.0  # times as long as in the run, from which an arm is profiled again
OVERHEAD_S = 10e-6  # of a profiler, for each call of an operator
USUAL_S = 20.0  # of a profile with the start of its worker, until one was made
AT_ONCE = 2  # workers that import their framework at the same time
MOST_CHARACTERS = 200  # of a reason

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class ProfiledArm:
    """An arm of a run that is to be profiled, with its trial."""

    trial: TrialRecord
    arm: ArmRecord

    @property
    def levels(self) -> Levels:
        """The levels of its own techniques."""
        return self.arm.levels

    @property
    def name(self) -> str:
        """What it is called where its profile is reported."""
        trial = self.trial
        return format_case(
            format_levels(self.levels),
            workload=trial.workload,
            problem=trial.problem,
            fixed=trial.fixed,
            framework=trial.framework,
        )

    @property
    def key(self) -> str:
        """A text that arms of different trials share where they compute the same."""
        trial = self.trial
        facts = [trial.framework, trial.workload, trial.problem, {**trial.fixed, **self.levels}]
        return json.dumps(facts, sort_keys=True)

    def how_disturbed(self, profile: Profile) -> float:
        """Return how many times as long as in the run an iteration took where it was profiled.

        Operators that together take longer than all cores together count, too: as many times as they do.
        """
        operators_s = sum(each.seconds - OVERHEAD_S * each.calls for each in profile.operators) / profile.cores
        times = operators_s / profile.seconds if profile.seconds else 1.0
        timing, items = self.arm.timing, self.arm.items
        if timing is not None and items and timing.median_s and profile.items:
            times = max(times, profile.seconds / profile.items * items / timing.median_s)
        return times


@dataclass(frozen=True, kw_only=True)
class Question:
    """An effect that a reader would ask about, and why: the higher its ``score``, the more it surprises."""

    trial: TrialRecord
    arm: ArmRecord
    asked: Asked
    score: float

    @property
    def sides(self) -> tuple[ProfiledArm, ProfiledArm]:
        """The baseline and the arm."""
        return (
            ProfiledArm(trial=self.trial, arm=self.trial.arms[0]),
            ProfiledArm(trial=self.trial, arm=self.arm),
        )


def explain_run(
    run: Run, budget_s: float, *, report: Say = lambda _: None, on_start: Callable[[], None] = lambda: None
) -> RunExplanation:
    """Profile the baselines of a run, and both sides of the effects that surprise, in about ``budget_s`` seconds.

    ``on_start`` is called when the machine is locked. Ctrl-C ends it with what there is by then.

    Raises:
        BadInput: the run was made on another machine, or on images of the user's own.
    """
    here = environment.fingerprint()
    require_profilable(run, machine_key(here.identity))
    with hold_machine(report):
        on_start()
        start_s = time.monotonic()
        profiles = _ProfilesOfRun(run, report, end_s=start_s + budget_s)
        limit = TimeLimit(LONGEST * budget_s)
        try:
            with limit:
                baselines = _list_baselines(run)
                for arms in ([each] for each in baselines):
                    profiles.refuse(arms)
                for question in rank_questions(run, []):
                    profiles.refuse(question.sides)
                profiles.make(baselines, until_s=start_s + PREDICTING_SHARE * budget_s)
                for question in rank_questions(run, predict_effects(run, profiles.found)):
                    if not profiles.has_failed(question.sides):
                        profiles.make(question.sides)
                profiles.make(baselines)
                profiles.repeat_disturbed()
        except KeyboardInterrupt:  # Ctrl-C keeps what there is by then
            if not (limit.is_over or profiles.found):
                raise
    predictions = [*predict_effects(run, profiles.found)]
    asked = rank_questions(run, predictions)
    for question in asked:  # those that surpass what a profile allows are known only now
        profiles.refuse(question.sides)
    questions = [each for each in asked if not profiles.has_failed(each.sides)]
    reasons = [*_explain_questions(questions, profiles.found)]
    return RunExplanation(
        schema_version=SCHEMA_VERSION,
        machine=run.machine,
        environment=replace(here, configuration=here.configuration | profiles.configuration),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        spent_s=time.monotonic() - start_s,
        predictions=predictions,
        reasons=reasons,
        left_out=len(questions) - len(reasons),
        baselines_left_out=sum(not profiles.is_done(each) for each in baselines),
        not_profiled=list(dict.fromkeys(profiles.failures.values())),
    )


def explain_effects(
    run: Run, effects: Iterable[tuple[TrialRecord, ArmRecord]], *, report: Say = lambda _: None
) -> Iterator[tuple[EffectOfRun, ExplainedEffect | str]]:
    """Explain effects of a run by two profiles each, however long it takes; a text says why one cannot be explained.

    Raises:
        BadInput: the run was made on another machine, or on images of the user's own.
    """
    require_profilable(run, machine_key(environment.identify()))
    with hold_machine(report):
        profiles = _ProfilesOfRun(run, report)
        for trial, arm in effects:
            question = Question(trial=trial, arm=arm, asked="chosen", score=0.0)
            profiles.make(question.sides)
            profiles.repeat_disturbed()
            explained = next(_explain_questions([question], profiles.found), None)
            why = (profiles.failures[each.key] for each in question.sides if not profiles.has(each))
            assert arm.effect is not None  # it is an effect
            test = name_tests(run.trials).get(trial.id, "")
            yield EffectOfRun(trial=trial, arm=arm, effect=arm.effect, test=test), explained or next(why)


def require_profilable(run: Run, here: str) -> None:
    """Check that a run's arms can be built again as they were.

    Raises:
        BadInput: the run was made on another machine than the one of this key, or on images of the user's own.
    """
    if run.machine != here:
        raise BadInput(
            f"the run was made on {run.machine}, and this machine is {here}; what profiles show here says nothing of "
            "that one: explain it there"
        )
    if run.settings.get("own_images"):
        raise BadInput("the run was made on images of your own, whose folder is not recorded, so it cannot be profiled")


def predict_effects(run: Run, profiles: Mapping[str, Profile]) -> Iterator[PredictedEffect]:
    """Yield what profiles say of the effects of the techniques that were switched alone."""
    for trial in run.trials:
        baseline = profiles.get(ProfiledArm(trial=trial, arm=trial.arms[0]).key)
        if baseline is None or len(trial.techniques) != 1:
            continue
        for prediction in predict(baseline):
            if trial.techniques[0] in prediction.techniques:
                share = prediction.share
                for arm, _ in _list_effects(trial):
                    yield PredictedEffect(
                        trial=trial.id,
                        levels=arm.levels,
                        touches=prediction.touches,
                        share=share.share,
                        low=share.low,
                        high=share.high,
                    )


def rank_questions(run: Run, predictions: Iterable[PredictedEffect]) -> list[Question]:
    """Return the effects that a reader would ask about, the most surprising first.

    Of techniques at one level, the most surprising effect of each comes before the second of any.
    """
    bounds = {(each.trial, json.dumps(each.levels)): each.at_most for each in predictions}
    found = []
    for trial in run.trials:
        if "ablation" in trial.kinds.values() or not predictable_techniques(trial.framework):
            continue
        for arm, effect in _list_effects(trial):
            bound = bounds.get((trial.id, json.dumps(arm.levels)), math.inf)
            if effect.verdict == "slower":
                found.append(Question(trial=trial, arm=arm, asked="slower", score=-_log(effect.upper)))
            elif effect.low > bound:
                found.append(Question(trial=trial, arm=arm, asked="surpassed", score=_log(effect.low / bound)))
    found.sort(key=lambda each: each.score, reverse=True)
    before: dict[str, int] = defaultdict(int)
    rounds = []
    for question in found:
        name = f"{question.trial.framework} {format_levels(question.arm.levels)}"
        rounds.append(before[name])
        before[name] += 1
    return [question for _, question in sorted(zip(rounds, found, strict=True), key=lambda pair: pair[0])]


def _list_effects(trial: TrialRecord) -> list[tuple[ArmRecord, Effect]]:
    return [(arm, arm.effect) for arm in trial.arms[1:] if arm.outcome == "measured" and arm.effect is not None]


def _log(ratio: float) -> float:
    return math.log(max(ratio, 1e-9))


def _list_baselines(run: Run) -> list[ProfiledArm]:
    """Return the baselines of which a profile may predict an effect, those first beside which something is slower."""
    chosen = [
        trial
        for trial in run.trials
        if len(trial.techniques) == 1
        and trial.techniques[0] in predictable_techniques(trial.framework)
        and _list_effects(trial)
    ]
    chosen.sort(key=lambda trial: not any(effect.verdict == "slower" for _, effect in _list_effects(trial)))
    arms = [ProfiledArm(trial=trial, arm=trial.arms[0]) for trial in chosen]
    return list({arm.key: arm for arm in arms}.values())


def _explain_questions(questions: Sequence[Question], profiles: Mapping[str, Profile]) -> Iterator[ExplainedEffect]:
    for question in questions:
        before, after = (profiles.get(side.key) for side in question.sides)
        if before is not None and after is not None:
            yield _explain(question, before, after)


def _explain(question: Question, before: Profile, after: Profile) -> ExplainedEffect:
    trial, arm = question.trial, question.arm
    prediction = None
    if len(trial.techniques) == 1:
        prediction = next((each for each in predict(before) if trial.techniques[0] in each.techniques), None)
    reasons = TechniqueExplanation(
        workload=trial.workload,
        measured=read_part(format_levels(arm.levels), arm.levels, arm),
        before=before,
        after=after,
        prediction=prediction,
    )
    return ExplainedEffect(
        trial=trial.id,
        levels=arm.levels,
        asked=question.asked,
        sentences=[*write_reasons(reasons), *_describe_disturbance(question.sides, (before, after))],
        operators=reasons.changes[:LISTED],
        before_s=before.seconds,
        after_s=reasons.scale * after.seconds,
    )


def _describe_disturbance(sides: Sequence[ProfiledArm], profiles: Sequence[Profile]) -> Iterator[str]:
    """Yield that an arm took much longer where it was profiled than in the run."""
    for side, profile, which in zip(sides, profiles, ("without", "with"), strict=True):
        if (times := side.how_disturbed(profile)) > DISTURBED:
            yield f"{which} it, the profile took {significant(times, 2)} times as long as the run: it was disturbed"


class _NotInCatalogue(Unavailable):
    """A technique is not in the catalogue, whichever arm has it."""


_Call = tuple[ProfiledArm, Callable[..., Profile], Setting]


class _ProfilesOfRun:
    """Makes profiles of arms of a run while there is time, each once. ``found`` and ``failures`` are by their keys.

    ``configuration`` holds the versions of the frameworks.
    """

    def __init__(self, run: Run, report: Say, *, end_s: float = math.inf) -> None:
        self.found: dict[str, Profile] = {}
        self.failures: dict[str, str] = {}
        self.configuration: dict[str, str] = {}
        self._run, self._report, self._end_s = run, report, end_s
        self._spent_s, self._made = 0.0, 0
        self._again: dict[str, ProfiledArm] = {}
        self._described: set[str] = set()

    def has(self, arm: ProfiledArm) -> bool:
        """Return whether an arm has its profile."""
        return arm.key in self.found

    def is_done(self, arm: ProfiledArm) -> bool:
        """Return whether an arm has its profile, or cannot have one."""
        return arm.key in self.found or arm.key in self.failures

    def has_failed(self, arms: Iterable[ProfiledArm]) -> bool:
        """Return whether any of these arms cannot be profiled."""
        return any(arm.key in self.failures for arm in arms)

    def refuse(self, arms: Iterable[ProfiledArm]) -> None:
        """Record why one of these arms cannot be profiled, the first such one, before any time is spent on them."""
        for arm in arms:
            if not self.is_done(arm):
                self._prepare(arm)
            if arm.key in self.failures:
                return

    def make(self, arms: Iterable[ProfiledArm], until_s: float = math.inf) -> None:
        """Profile those arms that have none, in this order, while all of them can be done in time.

        Workers of one framework start together.
        """
        left = [arm for arm in arms if not self.is_done(arm)]
        while left:
            batch = [arm for arm in left if arm.trial.framework == left[0].trial.framework][:AT_ONCE]
            each_s = self._spent_s / self._made if self._made else USUAL_S
            if time.monotonic() + len(batch) * each_s > min(until_s, self._end_s):
                return
            left = [arm for arm in left if arm not in batch]
            self._profile(batch)
            for arm in batch:
                if self.has(arm) and arm.how_disturbed(self.found[arm.key]) > DISTURBED:
                    self._again.setdefault(arm.key, arm)

    def repeat_disturbed(self) -> None:
        """Profile once more what was disturbed, while there is time."""
        again, self._again = list(self._again.values()), {}
        for arm in again:
            if time.monotonic() + self._spent_s / self._made < self._end_s:
                self._profile([arm])

    def _profile(self, arms: Sequence[ProfiledArm]) -> None:
        start_s = time.monotonic()
        calls = [call for arm in arms if (call := self._prepare(arm)) is not None]
        if not calls:
            return
        try:
            levels = [{**arm.trial.fixed, **arm.levels} for arm, _, _ in calls]
            with start_workers(arms[0].trial.framework, levels) as workers:
                self._describe(workers[0])
                for worker, (arm, profiler, setting) in zip(workers, calls, strict=True):
                    self._report(f"profiling {arm.name}")
                    try:
                        self._keep(arm, profile_in(worker, profiler, setting, arm.levels))
                    except Exception as error:  # whatever a workload raises under a profiler
                        self._fail(arm, error)
        except Unavailable as error:  # a worker did not start
            for arm, _, _ in calls:
                self._fail(arm, error)
        self._spent_s += time.monotonic() - start_s
        self._made += len(calls)

    def _prepare(self, arm: ProfiledArm) -> _Call | None:
        """Return what a worker is asked for an arm's profile; None, with the reason kept, where nothing profiles it."""
        try:
            request = self._request(arm)
            return arm, find_profiler(request), request.setting
        except AccelbenchError as error:
            self._fail(arm, error)
            return None

    def _describe(self, worker: Worker) -> None:
        """Record the versions of a worker's framework, once for each framework."""
        if worker.framework not in self._described:
            _, description, _ = worker.ask("describe")
            self.configuration |= worker.interpreter.describe(worker.framework, description)
            self._described.add(worker.framework)

    def _keep(self, arm: ProfiledArm, profile: Profile) -> None:
        """Keep a profile, unless another one of the arm was disturbed less."""
        known = self.found.get(arm.key)
        if known is None or arm.how_disturbed(profile) < arm.how_disturbed(known):
            self.found[arm.key] = profile

    def _request(self, arm: ProfiledArm) -> ExplanationRequest:
        """Return what profiles an arm.

        Raises:
            BadInput: its workload is not in the catalogue.
            Unavailable: a technique is not in the catalogue.
        """
        trial, settings = arm.trial, self._run.settings
        unknown = [name for name in {**trial.fixed, **arm.levels} if not is_technique(trial.framework, name)]
        if unknown:
            names = join_names([hyphenate(name) for name in unknown])
            verb = "is" if len(unknown) == 1 else "are"
            raise _NotInCatalogue(
                f"{names} {verb} not in accelbench's catalogue, and explain imports neither tests nor modules of yours"
            )
        seed = settings.get("seed")
        return ExplanationRequest(
            workload=find_workload(trial.workload),
            fixed=trial.fixed,
            options=trial.problem,
            seed=seed if isinstance(seed, int) else 0,
            size="full" if settings.get("size") == "full" else "small",
            runs_in=trial.framework,
        )

    def _fail(self, arm: ProfiledArm, error: Exception) -> None:
        if self.has(arm):  # only its repetition failed
            return
        why = message_or_type(error)
        of_arm = "" if isinstance(error, _NotInCatalogue) else f"{arm.name}: "
        self.failures[arm.key] = f"{of_arm}{why[:MOST_CHARACTERS]}"

"""A run is explained from profiles: each made once, the surprising effects first, as far as the time goes."""

from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from explanations import AMP, CHANNELS, WORKERS, explained_run
from runs import arm, effect, trial

from accelbench.errors import BadInput
from accelbench.explain.profile import OperatorTime, Profile, StepShare
from accelbench.explain.run_session import explain_effects, explain_run, rank_questions
from accelbench.schema.run_explanation import PredictedEffect


def profiled(seconds: float, **operators: float) -> Profile:
    listed = tuple(
        OperatorTime(name=name, calls=1, seconds=each_s, share=StepShare.of([each_s / seconds] * 3))
        for name, each_s in operators.items()
    )
    share = StepShare.of([0.5] * 3)
    return Profile(
        framework="torch", device="cpu", seconds=seconds, items=1.0, operators=listed, loading=share, cores=2
    )


PROFILES = {
    ("mlp-train", "fp32"): profiled(1e-3, mm=0.5e-3, add=0.3e-3),
    ("mlp-train", "fp16"): profiled(9e-3, mm=8e-3, add=0.3e-3),
    ("image-loading", "0"): profiled(2e-3, mean=1e-3),
    ("image-loading", "1"): profiled(3e-3, mean=2e-3),
    ("cnn-train", "contiguous"): profiled(4e-3, convolution=1e-3, mm=2e-3),
    ("cnn-train", "channels-last"): profiled(1e-3, convolution=0.2e-3, mm=0.2e-3),
}


@pytest.fixture
def made(monkeypatch) -> list[tuple[str, str]]:
    """Which profiles were made: workload and level."""
    made: list[tuple[str, str]] = []

    class FakeWorker:
        def __init__(self, framework: str, environment: dict[str, str]) -> None:
            self.framework, self.environment = framework, environment
            self.interpreter = SimpleNamespace(describe=lambda _, description: description)

        def ask(self, *_: Any) -> Any:
            return [], {"torch.version": "2.9.0"}, False

        def call(self, profiler: Any, setting: Any, levels: dict[str, str], **_: Any) -> Profile:
            assert (setting.size, setting.seed) == ("small", 3)
            key = (profiler.args[1], next(iter(levels.values())))
            made.append(key)
            if isinstance(found := PROFILES[key], BaseException):
                raise found
            return found

        def close(self) -> None:
            pass

    monkeypatch.setattr("accelbench.explain.profile_worker.Worker", FakeWorker)
    monkeypatch.setattr("accelbench.explain.run_session.machine_key", lambda _: "example-2c-8g")
    monkeypatch.setattr("accelbench.explain.run_session.hold_machine", lambda _: nullcontext())
    return made


def test_every_baseline_and_what_surprises_is_profiled_once(made):
    found = explain_run(explained_run(), 600)
    assert sorted(made) == sorted(PROFILES)
    assert [each.trial for each in found.reasons] == [AMP, CHANNELS, WORKERS]
    assert [each.asked for each in found.reasons] == ["slower", "surpassed", "slower"]
    assert (found.left_out, found.baselines_left_out, found.not_profiled) == (0, 0, [])


def test_the_start_is_told_before_anything_is_profiled(made):
    told: list[list[tuple[str, str]]] = []
    explain_run(explained_run(), 600, on_start=lambda: told.append([*made]))
    assert told == [[]]


def test_the_versions_under_which_it_was_profiled_are_kept(made):
    assert explain_run(explained_run(), 600).environment.configuration["torch.version"] == "2.9.0"
    assert made != []


@pytest.mark.usefixtures("made")
def test_predictions_come_from_the_baseline_alone():
    found = explain_run(explained_run(), 600)
    shares = {each.trial: (each.touches, each.share) for each in found.predictions}
    assert shares[AMP] == ("products and convolutions", pytest.approx(0.5))
    assert shares[WORKERS] == ("waiting for the loader", pytest.approx(0.5))
    assert len(found.predictions) == 4


@pytest.mark.usefixtures("made")
def test_a_reason_is_the_difference_of_both_profiles():
    (reason,) = [each for each in explain_run(explained_run(), 600).reasons if each.trial == AMP]
    assert reason.sentences[0] == "by profile, it adds time in mm (500 µs → 8.00 ms)"
    assert reason.operators[0].added_s == pytest.approx(7.5e-3)
    assert (reason.before_s, reason.after_s) == (1e-3, 9e-3)


def test_baselines_beside_which_something_is_slower_come_first_and_what_has_no_time_is_counted(made, monkeypatch):
    monkeypatch.setattr("accelbench.explain.run_session.USUAL_S", 20.0)
    found = explain_run(explained_run(), 70)  # two profiles of 20 s fit into 60 % of it
    assert made[:2] == [("mlp-train", "fp32"), ("image-loading", "0")]
    assert explain_run(explained_run(), 10).left_out == 2
    assert explain_run(explained_run(), 10).baselines_left_out == 3
    assert found.reasons != []


def test_equal_baselines_of_several_trials_are_profiled_once(made):
    run = explained_run()
    again = replace(run.trials[0], id="benchmarks/test_amp.py::test_again")
    explain_run(replace(run, trials=[*run.trials, again]), 600)
    assert made.count(("mlp-train", "fp32")) == 1


def test_what_fails_under_a_profiler_is_a_sentence_and_costs_nothing_else(made, monkeypatch):
    monkeypatch.setitem(PROFILES, ("mlp-train", "fp32"), RuntimeError("no such kernel\nand more"))
    found = explain_run(explained_run(), 600)
    assert found.not_profiled == ["amp fp32, mlp-train, torch: no such kernel"]
    assert {each.trial for each in found.reasons} == {WORKERS, CHANNELS}
    assert ("mlp-train", "fp16") not in made


def test_ctrl_c_keeps_what_there_is_by_then(made, monkeypatch):
    monkeypatch.setitem(PROFILES, ("image-loading", "0"), KeyboardInterrupt())
    found = explain_run(explained_run(), 600)
    assert {each.trial for each in found.predictions} == {AMP}
    assert (found.baselines_left_out, found.left_out) == (2, 2)
    monkeypatch.setitem(PROFILES, ("mlp-train", "fp32"), KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        explain_run(explained_run(), 600)
    assert made.count(("mlp-train", "fp32")) == 2


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"workload": "my-own-training"}, "unknown workload 'my-own-training'"),
        (
            {"fixed": {"my_own_technique": "on"}},
            "my-own-technique is not in accelbench's catalogue, and explain imports neither",
        ),
    ],
)
def test_what_the_catalogue_does_not_have_is_a_sentence(made, fields, words):
    run = explained_run()
    (sentence,) = explain_run(replace(run, trials=[replace(run.trials[0], **fields)]), 600).not_profiled
    assert words in sentence
    assert made == []


def test_a_profile_that_took_far_longer_than_the_run_is_made_again_and_the_better_one_kept(made, monkeypatch):
    disturbed = iter([profiled(0.1, mm=0.09), PROFILES["mlp-train", "fp16"]])

    class Changing(dict):
        def __getitem__(self, key):
            return next(disturbed) if key == ("mlp-train", "fp16") else super().__getitem__(key)

    monkeypatch.setattr("test_run_session.PROFILES", Changing(PROFILES))
    (reason,) = [each for each in explain_run(explained_run(), 600).reasons if each.trial == AMP]
    assert made.count(("mlp-train", "fp16")) == 2
    assert reason.after_s == 9e-3


@pytest.mark.usefixtures("made")
def test_a_profile_that_stays_disturbed_says_so(monkeypatch):
    monkeypatch.setitem(PROFILES, ("mlp-train", "fp16"), profiled(0.09, mm=0.08))
    (reason,) = [each for each in explain_run(explained_run(), 600).reasons if each.trial == AMP]
    assert "with it, the profile took 10 times as long as the run: it was disturbed" in reason.sentences


def test_a_run_of_another_machine_is_refused():
    with pytest.raises(BadInput, match=r"the run was made on example-2c-8g, and this machine is .*: explain it there"):
        explain_run(explained_run(), 60)


@pytest.mark.usefixtures("made")
def test_a_run_on_own_images_is_refused():
    with pytest.raises(BadInput, match="images of your own, whose folder is not recorded"):
        explain_run(explained_run(own_images="12 files"), 60)


@pytest.mark.usefixtures("made")
def test_chosen_effects_are_explained_however_long_it_takes():
    run = explained_run()
    ((_, found),) = explain_effects(run, [(run.trials[0], run.trials[0].arms[2])])
    assert found.levels == {"amp": "fp16"}
    stranger = replace(run.trials[0], workload="my-own-training")
    ((_, why),) = explain_effects(run, [(stranger, stranger.arms[2])])
    assert "unknown workload" in why


def slower(name: str, upper: float, **fields: Any):
    return trial(
        arm({name: "off"}, 1.0),
        arm({name: "on"}, 2.0, effect=effect(0.9 * upper, 0.8 * upper, upper, "slower")),
        **fields,
    )


def test_each_technique_comes_once_before_any_comes_twice():
    run = SimpleNamespace(
        trials=[
            slower("amp", 0.5, id="a"),
            slower("amp", 0.3, id="b"),
            slower("compile", 0.9, id="c"),
            slower("ablation", 0.1, id="d"),
        ]
    )
    assert [each.trial.id for each in rank_questions(run, [])] == ["b", "c", "a"]


def test_what_surpasses_its_bound_is_asked_about():
    bound = PredictedEffect(trial="t", levels={"amp": "bf16"}, touches="products", share=0.1, low=0.1, high=0.1)
    for speedup, asked in ((1.5, ["surpassed"]), (1.1, [])):
        known = trial(
            arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 1.0, effect=effect(speedup, speedup, 9.9, "faster")), id="t"
        )
        assert [each.asked for each in rank_questions(SimpleNamespace(trials=[known]), [bound])] == asked


def test_what_cannot_be_profiled_is_said_before_the_time_is_blamed(made):
    run = explained_run()
    strange = [replace(each, fixed={"my_own_technique": "on"}) for each in run.trials]
    found = explain_run(replace(run, trials=strange), 10)
    assert found.not_profiled == [
        "my-own-technique is not in accelbench's catalogue, and explain imports neither tests nor modules of yours"
    ]
    assert (found.left_out, found.baselines_left_out, made) == (0, 0, [])

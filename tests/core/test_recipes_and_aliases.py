"""What the catalogue tells of techniques: what a user writes for an arm, and what else people call them."""

import pytest
from runs import arm, trial

from accelbench.core import Technique, annotate, find_technique, keywords, load_builtins, matches, searched_texts
from accelbench.core.technique import suggest_technique
from accelbench.errors import BadInput
from accelbench.schema.result import Placement, TrialRecord

load_builtins()
ON_GPU = Placement(inputs=["cuda:0"], parameters=["cuda:0"], outputs=["cuda:0"])
TYPED = {  # what people type, by what they mean
    "num_workers": ("torch", "workers"),
    "DataLoader": ("torch", "workers"),
    "mixed precision": ("torch", "amp"),
    "autocast": ("torch", "amp"),
    "torch.compile": ("torch", "compile"),
    "XLA": ("tensorflow", "xla"),
    "jit_compile": ("tensorflow", "xla"),
    "set_num_threads": ("torch", "threads"),
    "num_threads": ("numpy", "threads"),
    "pinned memory": ("torch", "pin_memory"),
    "channels_last": ("torch", "memory_format"),
    "cudnn.benchmark": ("torch", "cudnn_benchmark"),
    "gradient checkpointing": ("torch", "activation_checkpointing"),
    "FlashAttention": ("torch", "attention"),
    "sdpa": ("torch", "attention"),
    "prefetch": ("torch", "prefetch_factor"),
    "GPU": ("torch", "device"),
    "cuda": ("tensorflow", "device"),
    "tf.function": ("tensorflow", "loop"),
    "cupy.fuse": ("cupy", "kernels"),
}


def recipes(measured: TrialRecord) -> list[list[str]]:
    return [each.recipe for each in annotate(measured).arms]


@pytest.mark.parametrize(("words", "meant"), TYPED.items())
def test_what_people_type_finds_the_technique(words: str, meant: tuple[str, str]) -> None:
    assert matches(words, *searched_texts(find_technique(*meant)))


def test_an_alias_is_a_word_of_k_in_pytest() -> None:
    words = set(keywords([find_technique("torch", "amp"), find_technique("torch", "compile")]))
    assert {"mixed_precision", "mixed-precision", "autocast", "torch.compile"} <= words
    assert not any(" " in word for word in words)


def test_the_recipe_of_an_arm_is_the_code_for_its_level_on_its_device() -> None:
    switched = trial(arm({"amp": "fp32"}, 1.0), arm({"amp": "bf16"}, 0.5, placement=ON_GPU), arm({"amp": "bf16"}, 0.5))
    baseline, on_gpu, on_cpu = recipes(switched)
    assert baseline == []
    assert on_gpu[0].startswith('with torch.autocast("cuda", dtype=torch.bfloat16):')
    assert on_cpu[0].startswith('with torch.autocast("cpu", dtype=torch.bfloat16):')


def test_a_program_left_on_its_own_device_has_the_recipe_for_where_it_ran() -> None:
    own = {"device": "as-is", "amp": "as-is"}
    switched = trial(arm(own, 1.0), arm(own | {"amp": "bf16"}, 0.5, placement=ON_GPU), arm(own | {"amp": "bf16"}, 0.5))
    _, on_gpu, on_cpu = recipes(switched)
    assert on_gpu[0].startswith('with torch.autocast("cuda", dtype=torch.bfloat16):')
    assert on_cpu[0].startswith('with torch.autocast("cpu", dtype=torch.bfloat16):')


def test_the_recipe_of_techniques_that_are_switched_together_has_the_code_of_each() -> None:
    both = trial(
        arm({"workers": "0", "compile": "eager"}, 1.0),
        arm({"workers": "2", "compile": "eager"}, 0.9),
        arm({"workers": "2", "compile": "default"}, 0.5),
    )
    assert recipes(both)[1:] == [
        ["DataLoader(data, num_workers=2)"],
        ["DataLoader(data, num_workers=2)", 'model = torch.compile(model, mode="default")'],
    ]


def test_a_rung_of_a_ladder_has_the_code_of_those_below_it_that_could_run() -> None:
    rungs = ["start", "+batch-size 64", "+log-interval never", "+pin-memory on", "+amp bf16"]
    climbed = trial(*(arm({"ladder": rung}, None if "pin" in rung else 1.0) for rung in rungs))

    written = recipes(climbed)[-1]
    assert written[0] == "DataLoader(data, batch_size=64)"
    assert "# log-interval never" in written
    assert "DataLoader(data, num_workers=2)" in written  # a rung that this run did not select stays below
    assert not any("pin_memory" in line for line in written)
    assert written[-1].startswith("with torch.autocast(")


@pytest.mark.parametrize(
    ("baseline", "candidate"),
    [({"vectorise": "loop"}, {"vectorise": "array"}), ({"gait": "slow"}, {"gait": "quick"})],
    ids=["not recommended", "not declared here"],
)
def test_without_code_to_write_there_is_no_recipe(baseline: dict[str, str], candidate: dict[str, str]) -> None:
    assert recipes(trial(arm(baseline, 1.0), arm(candidate, 0.5))) == [[], []]


def test_what_a_file_holds_stays() -> None:
    stored = trial(
        arm({"amp": "fp32"}, 1.0),
        arm({"amp": "bf16"}, 0.5, recipe=["theirs"]),
        technique_aliases={"amp": ["low precision"]},
        technique_groups={"amp": "my own heading"},
    )
    assert annotate(stored) == stored


@pytest.mark.parametrize(
    ("framework", "name", "said"),
    [
        ("torch", "num_workers", "; num_workers is workers here"),
        ("torch", "NumWorkers", "; did you mean workers?"),
        ("torch", "DataLoader", "; DataLoader is pin_memory or workers or persistent_workers or prefetch_factor here"),
        ("torch", "sdpa", "; sdpa is a level of attention"),
        ("torch", "memory_fromat", "; did you mean memory_format?"),
        ("torch", "zzz", ""),
    ],
)
def test_an_unknown_name_is_answered_with_what_it_may_mean(framework: str, name: str, said: str) -> None:
    assert suggest_technique(framework, name) == said
    with pytest.raises(BadInput, match=f"^unknown technique '{name}' for {framework}; expected one of: ") as refused:
        find_technique(framework, name)
    assert str(refused.value).endswith(said)


@pytest.mark.parametrize(
    ("given", "expected"),
    [({"aliases": "num_workers"}, "a tuple of texts"), ({"snippet": "x = 1"}, "a text for each level")],
)
def test_a_declaration_of_the_wrong_kind_is_refused_in_one_line(given: dict[str, str], expected: str) -> None:
    with pytest.raises(BadInput, match=expected):
        Technique(name="t", framework="numpy", levels=("a", "b"), summary="", apply=lambda build, _: build(), **given)  # type: ignore[arg-type]

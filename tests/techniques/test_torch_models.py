"""Techniques of a model's workflow: levels become options, and what is no comparison is not made one."""

from typing import Any

import pytest

import harness.techniques
import harness.workloads  # noqa: F401  fills the catalogue
from harness.errors import Unavailable
from harness.experiment import Arm, Setting, find_technique, find_workload, stack
from harness.workloads.torch.checkpoint_files import FORMATS
from harness.workloads.torch.evaluation import GRADIENTS
from harness.workloads.torch.inception_block import BRANCHES


def options_of(technique: str, level: str) -> dict[str, Any]:
    passed: dict[str, Any] = {}

    def build(**options: Any) -> Arm:
        passed.update(options)
        return Arm(step=dict)

    find_technique("torch", technique).apply(build, level)
    return passed


@pytest.mark.parametrize(
    ("technique", "option", "levels"),
    [
        ("branches", "branches", BRANCHES),
        ("inference", "gradients", GRADIENTS),
        ("checkpoint_format", "checkpoint_format", tuple(FORMATS)),
    ],
)
def test_levels_are_those_of_the_workload(technique: str, option: str, levels: tuple[str, ...]) -> None:
    assert find_technique("torch", technique).levels == levels
    assert [options_of(technique, level) for level in levels] == [{option: level} for level in levels]


def test_a_checkpoint_is_mapped_or_not() -> None:
    assert options_of("mmap", "on") == {"mapped": True}
    assert options_of("mmap", "off") == {"mapped": False}


def test_only_the_convolution_need_not_compute_what_the_branches_compute() -> None:
    branches = find_technique("torch", "branches")
    assert [branches.compared_at(level) for level in BRANCHES[1:]] == [True, False]


def test_saving_has_nothing_to_map() -> None:
    save = find_workload("checkpoint-save")
    with pytest.raises(Unavailable, match="workload checkpoint-save has no option 'mapped'"):
        stack([(find_technique("torch", "mmap"), "on")], lambda **options: save.build(Setting(), **options))

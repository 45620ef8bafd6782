"""What is advised of each technique: something to write, or a reason why not."""

import pytest

import accelbench.techniques  # noqa: F401  importing declares them
from accelbench.core import Host, declared_for
from accelbench.core.ladder import ADDS

HOST = Host(cores=4, accelerators=("cuda",), size="full", max_batch=8, max_workers=4)
LEVELS = [
    (framework, technique.name, level)
    for framework in ("numpy", "torch", "tensorflow", "cupy")
    for technique in declared_for(framework)
    if technique.scope == "arm"
    for level in technique.levels_on(HOST)[1:]
    if not level.startswith(ADDS)  # a stack of other techniques
]


@pytest.mark.parametrize(("framework", "name", "level"), LEVELS)
def test_every_level_says_what_to_write_or_why_it_is_not_advised(framework, name, level):
    (technique,) = [each for each in declared_for(framework) if each.name == name]
    written, reason = (
        technique.snippet_at(level, "cuda"),
        technique.not_recommended.get(level, technique.not_recommended.get("*", "")),
    )
    assert bool(written) != bool(reason)
    assert "{" not in written.replace('{"use_reentrant": False}', "")


@pytest.mark.parametrize("framework", ["torch", "tensorflow"])
def test_what_is_slow_to_start_is_a_level_and_no_baseline(framework):
    slow = [each for each in declared_for(framework) if each.compiles]
    assert slow
    assert all(set(each.compiles) <= set(each.levels_on(HOST)[1:]) for each in slow)

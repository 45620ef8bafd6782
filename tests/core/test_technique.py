"""Techniques: declared once, stacked in any combination, and put back."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from accelbench.core import (
    Arm,
    Build,
    Host,
    Setting,
    Trial,
    apply_all,
    find_technique,
    find_workload,
    technique,
    workload,
)
from accelbench.errors import BadInput, Unavailable

switched: list[str] = []


@workload("fake", unit="row")
def tiny_table(setting: Setting, *, rows: int = 2, layout: str = "plain") -> Arm:
    """A table of a few rows."""
    return Arm(step=lambda: (rows, layout, setting.size), items=rows)


@technique("fake", levels=("plain", "packed"), tolerance={"packed": 0.5})
def layout(build: Build, level: str) -> Arm:
    """How the rows lie in memory."""
    return build(layout=level)


@technique("fake", levels=("off", "on"), tolerance={"*": 0.25})
def flag(build: Build, level: str) -> Arm:
    """A global flag."""
    return build().inside(flag_set_to, level)


@technique("fake", levels=lambda host: tuple(map(str, range(1, host.cores + 1))))
def cores(build: Build, level: str) -> Arm:
    """How many cores work."""
    return build().inside(flag_set_to, level)


@technique("fake", levels=("one", "two", "sum"), same_output=("two",))
def term(build: Build, level: str) -> Arm:
    """What is computed: the same twice, or something else."""
    return build(layout=level)


@technique("fake", levels=("off", "on"), same_output=False)
def noise(build: Build, level: str) -> Arm:
    """Something random."""
    return build(layout=level)


@technique("fake", levels=("off", "on"))
def unknown_option(build: Build, level: str) -> Arm:
    """Something that the table does not offer."""
    return build(colour=level)


@contextmanager
def flag_set_to(level: str) -> Iterator[None]:
    switched.append(level)
    yield
    switched.append("back")


def table(**options: object) -> Arm:
    return find_workload("tiny-table").build(Setting(), **options)


def test_a_stack_of_techniques_reaches_the_workload_and_its_context() -> None:
    arm = apply_all([(flag, "on"), (layout, "packed")], table)
    with arm.enter():
        assert switched[-1] == "on"
        assert arm.step() == (2, "packed", "small")
    assert switched[-1] == "back"


def test_the_order_of_stacking_does_not_matter_to_the_workload() -> None:
    one, other = (
        apply_all([(flag, "on"), (layout, "packed")], table),
        apply_all([(layout, "packed"), (flag, "on")], table),
    )
    assert one.step() == other.step()


def test_a_technique_that_a_workload_does_not_offer_is_unavailable_in_one_sentence() -> None:
    with pytest.raises(Unavailable, match="tiny-table has no option 'colour'"):
        apply_all([(unknown_option, "on")], table)


@pytest.mark.parametrize("levels", [(), ("a",), ("a", "a"), ("a", "b", "a")])
def test_levels_that_leave_nothing_to_compare_are_refused_in_one_line(levels: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match=r"technique lone has the levels .*; expected two or more different ones"):

        @technique("fake", levels=levels)
        def lone(build: Build, level: str) -> Arm:
            """Nothing to switch."""
            return build(layout=level)


def test_a_machine_may_offer_one_level_alone() -> None:
    assert cores.levels_on(Host(cores=1)) == ("1",)


def test_an_option_that_is_not_keyword_only_is_refused_in_one_line() -> None:
    with pytest.raises(
        BadInput, match=r"workload loose-table: the parameter 'rows' is no option.*; put a [*] before it"
    ):

        @workload("fake", unit="row")
        def loose_table(setting: Setting, rows: int = 2) -> Arm:
            """A table of a few rows."""
            return Arm(step=lambda: (rows, setting.size))


def test_levels_may_depend_on_the_machine() -> None:
    assert cores.levels_on(Host(cores=3)) == ("1", "2", "3")
    assert layout.levels_on(Host()) == ("plain", "packed")


def test_a_tolerance_is_the_levels_own_or_everyones_or_rounding() -> None:
    assert (layout.tolerance_at("packed"), flag.tolerance_at("on"), cores.tolerance_at("2")) == (0.5, 0.25, 1e-4)


def test_levels_compute_the_same_unless_the_declaration_says_otherwise() -> None:
    assert [term.compared_at(level) for level in ("two", "sum")] == [True, False]
    assert (flag.compared_at("on"), noise.compared_at("on")) == (True, False)


def test_names_and_summaries_come_from_the_declaration() -> None:
    declared = find_workload("tiny-table")
    assert (declared.summary, declared.unit, declared.options) == (
        "A table of a few rows.",
        "row",
        frozenset({"rows", "layout"}),
    )
    assert find_technique("fake", "layout").summary == "How the rows lie in memory."


def test_an_unknown_name_lists_those_that_exist() -> None:
    with pytest.raises(BadInput, match=r"unknown technique 'lay_out' for fake; expected one of: .*layout"):
        find_technique("fake", "lay_out")
    with pytest.raises(BadInput, match=r"unknown workload 'tiny'; expected one of: .*tiny-table"):
        find_workload("tiny")
    with pytest.raises(BadInput, match=r"unknown workload 'tiny-tabel'; .*; did you mean tiny-table\?$"):
        find_workload("tiny-tabel")


def test_a_framework_without_techniques_is_told_as_the_mistake() -> None:
    unknown = "unknown technique 'layout' for fakke, which has no techniques; frameworks that have some: "
    with pytest.raises(BadInput, match=rf"^{unknown}.*; did you mean fake\?$"):
        find_technique("fakke", "layout")


@technique("fake", levels=("cpu", "fake:0"), kind="device")
def chip(build: Build, level: str) -> Arm:  # noqa: ARG001  only its kind matters
    """The chip that works, under a name of its own."""
    return build()


def test_the_device_of_an_arm_follows_from_the_kind_of_its_techniques_whatever_their_name() -> None:
    trial = Trial(framework="fake", workload="tiny-table", arms=({"layout": "plain"},), fixed={"chip": "fake:0"})
    assert trial.device_of({"layout": "plain"}) == "fake:0"
    assert trial.device_of({"chip": "cpu"}) == "cpu"
    assert Trial(framework="fake", workload="tiny-table", arms=({},)).device_of({"undeclared": "cpu"}) is None


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"kind": "sweeep"}, "has the kind 'sweeep'; expected one of: switch, sweep, device, ablation"),
        ({"tolerance": {"onn": 0.5}}, "tolerance names the level 'onn'; expected some of: off, on, [*]"),
        ({"tolerance": 0.5}, "tolerance is 0.5; expected a value for each level, by its name"),
        ({"environment": {"*": {"X": "1"}}}, "environment names the level '[*]'; expected some of: off, on$"),
        ({"snippet": {"onn": "x"}}, "snippet names the level 'onn'; expected some of: off, on, [*]"),
        ({"not_recommended": {"onn": "x"}}, "not_recommended names the level 'onn'; expected some of: off, on, [*]"),
        ({"compiles": ("onn",)}, "compiles names the level 'onn'; expected some of: off, on$"),
        ({"compiles": "on"}, r"compiles is 'on'; expected a tuple of levels, such as \('on',\)"),
        ({"same_output": ("onn",)}, "same_output names the level 'onn'; expected some of: off, on$"),
        ({"same_output": "on"}, r"same_output is 'on'; expected a tuple of levels, such as \('on',\)"),
    ],
)
def test_a_declaration_that_contradicts_itself_is_refused_in_one_line(
    arguments: dict[str, object], complaint: str
) -> None:
    with pytest.raises(BadInput, match=f"^technique muddle:? {complaint}"):

        @technique("fake", levels=("off", "on"), **arguments)  # type: ignore[arg-type]  # that is the test
        def muddle(build: Build, level: str) -> Arm:
            """Nothing that is declared well."""
            return build(layout=level)


def test_a_declaration_may_name_levels_of_a_machine_that_is_not_known_yet() -> None:
    @technique("fake", levels=lambda _: ("1", "2"), tolerance={"64": 0.5}, compiles=("64",))
    def crowd(build: Build, level: str) -> Arm:
        """How many take part."""
        return build(layout=level)

    assert crowd.tolerance_at("64") == 0.5


def test_an_option_that_two_techniques_set_is_named_in_one_line() -> None:
    complaint = (
        "technique (layout|noise) sets the option 'layout', and another technique of this arm sets it too; leave"
    )
    with pytest.raises(BadInput, match=complaint):
        apply_all([(layout, "packed"), (noise, "on")], table)

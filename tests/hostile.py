"""Result files as somebody might craft them: a run that uses every field, with values put in that nobody measured."""

import copy
import json
import math
from collections.abc import Iterator
from typing import Any, get_args

from hypothesis import strategies as st
from runs import STORED, arm, effect, memory, run, trial

from accelbench.schema.result import Ceiling, Outcome, Placement, Rate, Verdict
from accelbench.schema.result_json import to_json

TEXTS = (
    "", " ", "\x1b[31m\x07\r\n", "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>',
    "[a](javascript:alert(1))", "\u202egpj.exe", "../../etc/passwd", "{{ 7 * 7 }}", "$\\frac{1}{$", "| a | b |",
    "_hidden", "=1+1", "\u2028", "😀" * 40, "x" * 300, "9" * 30, "٣", "²", "1e400", "nan", "http://evil.example", "`",
    "*", "&lt;", "\0", "a\tb", "%s%n",
)  # fmt: skip
NUMBERS = (
    0, -1, 1, 2, 1e-320, 1e-29, 0.5, 1e30, 1e308, 2**31, 2**63 - 1, 2**63, 10**40, True, math.nan, -math.inf,
)  # fmt: skip
OTHERS = (None, "\ud800", [], {}, [[]], {"": {}}, "x" * 70_000, [None] * 1000, json.loads("[" * 60 + "]" * 60))

_WORDS = {"outcome": get_args(Outcome), "verdict": get_args(Verdict)}
_STRAY = (b"NaN", b"1e999", b'"', b"-", b"[" * 5000, b'{"a":' * 5000, b"\xff\xfe")


def document() -> dict[str, Any]:
    """Return a result file's JSON in which every kind of finding occurs."""
    measured = {
        "placement": Placement(inputs=["cpu"], parameters=["cpu"], outputs=["cpu"], kernels=3),
        "rates": [Rate(ceiling="cpu memory", per_s=1e10, share=0.5)],
        "flags": ["the baseline may be handicapped"],
        "observed": {"wait_share": 0.4, "cpu_utilisation": 0.5},
        "price": memory(10, 20),
    }
    half = effect(2.0, 1.9, 2.1, "faster")
    sizes = [
        trial(
            arm({"amp": "fp32"}, 1.0, **measured),
            arm({"amp": "bf16"}, time_s, effect=effect(1 / time_s, 0.9 / time_s, 1.1 / time_s, verdict), **measured),
            arm({"amp": "fp16"}, outcome="wrong-work", reason="its output is cached"),
            id=f"benchmarks/test_amp.py::test_amp[{size}]", problem={"elements": size}, fixed={"layout": "rows"},
            disturbance={"other_cores": 0.5}, remarks=["busy"], spent_s={"build": 1.0},
        )
        for size, time_s, verdict in ((10, 2.0, "slower"), (1000, 0.5, "faster"))
    ]  # fmt: skip
    levels = [
        trial(*(arm({name: level}, 1.0 / int(level), effect=half, **measured) for level in ("1", "2", "4")))
        for name in ("batch_size", "workers")
    ]
    stacked = [
        trial(
            arm({name: first}, 1.0, **measured), *(arm({name: level}, 0.5, effect=half) for level in others),
            id=f"benchmarks/test_stack.py::test_{name}",
        )
        for name, first, *others in (("log_interval", "never", "every-10", "every-step"), ("stack", "0", "+a", "+b"))
    ]  # fmt: skip
    ways = (arm({"pin": pin, "async": sent}, 0.5, effect=half, **measured) for pin in "01" for sent in "01")
    both = trial(*ways, id="benchmarks/test_pin.py::test_pin")
    ablation = trial(arm({"ablation": "none"}, 1.0, **measured), arm({"ablation": "decoded"}, 0.5, effect=half))
    ceilings = [Ceiling(name="cpu memory", per_s=2e10, unit="byte")]
    made = to_json(run(*sizes, *levels, *stacked, both, ablation, ceilings=ceilings, spent_s={"build": 2.0}))
    return {"benchmarks": [{"name": "x"}], "datetime": "2026-01-01T00:00:00+00:00", "accelbench": made}


@st.composite
def mutated(draw: st.DrawFn, *, valid: bool = False) -> dict[str, Any]:
    """Return the document with some values replaced or removed; ``valid``: by others of the same type only."""
    made = copy.deepcopy(document())
    for _ in range(draw(st.integers(1, 6))):
        found = list(places(made["accelbench"] if valid else made))
        if valid:  # a newer version is refused
            found = [(holder, key) for holder, key in found if key != "schema_version"]
        if not found:
            break
        holder, key = found[draw(st.integers(0, len(found) - 1))]
        if not valid and draw(st.integers(0, 9)) == 0:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(draw(_alike(key, holder[key]) if valid else _anything()))
            if isinstance(holder, dict) and not valid and draw(st.integers(0, 9)) == 0:
                holder[draw(st.sampled_from(TEXTS))] = holder.pop(key)
    return made


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Return the bytes of a result file that were cut, repeated, changed or wrapped."""
    data = bytearray(STORED.with_name("run_every_field.json").read_bytes())
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 200))
        kind = draw(st.sampled_from(["cut", "drop", "repeat", "flip", "insert", "wrap"]))
        if kind == "cut":
            del data[place:]
        elif kind == "drop":
            del data[place : place + length]
        elif kind == "repeat":
            data[place:place] = data[place : place + length] * draw(st.integers(1, 20))
        elif kind == "flip" and place < len(data):
            data[place] ^= draw(st.integers(1, 255))
        elif kind == "insert":
            data[place:place] = draw(st.sampled_from(_STRAY))
        elif kind == "wrap":
            data = bytearray(b"[" * length + data + b"]" * length)
    return bytes(data)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of the run with each of its keys."""
    for key in range(len(value)) if isinstance(value, list) else list(value):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def _anything() -> st.SearchStrategy[Any]:
    return st.one_of(st.sampled_from(TEXTS), st.sampled_from(NUMBERS), st.sampled_from(OTHERS))


def _alike(key: Any, value: Any) -> st.SearchStrategy[Any]:
    """Return values that the schema allows in place of this one."""
    if key in _WORDS:
        return st.sampled_from(_WORDS[key])
    if isinstance(value, bool):
        return st.booleans()
    if isinstance(value, int):
        return st.just(value) if key == "schema_version" else st.sampled_from((0, 1, 2, 2**31, 2**53))
    if isinstance(value, float):
        return st.sampled_from((0.0, 5e-324, 1e-29, 0.5, 1.0, 3.0, 1e6, 1e12))
    return st.sampled_from(TEXTS) if isinstance(value, str) else st.just(value)

"""The table of what articles claim is computed from results, and says what no run tests."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "docs"))
from claims import CLAIMS, PublishedRun, claims

NOTHING = {"crossovers": [], "knees": []}
ROWS = {claim.text: place for place, claim in enumerate(CLAIMS)}


def effect(test, level, speedup=1.0, verdict="faster", *, workload="net", problem="", memory=(0, 0)):
    low, high = 0.9 * speedup, 1.1 * speedup
    return {
        "trial": f"benchmarks/{test}[{problem}]",
        "level": level,
        "workload": workload,
        "problem": problem,
        "fixed": "",
        "verdict": verdict,
        "speedup": str(speedup),
        "low": str(low),
        "high": str(high),
        "memory_bytes": str(memory[0] or ""),
        "baseline_memory_bytes": str(memory[1] or ""),
    }


def cells(text, *effects, gpu=(), **findings):
    cpu = [PublishedRun(effects, NOTHING | findings)]
    rows = [*claims(cpu, [PublishedRun(gpu, NOTHING)] if gpu else [])][2:]
    return [cell.strip() for cell in rows[ROWS[text]].split(" | ")[1:]]


def test_a_claim_that_takes_a_gpu_names_the_run_that_would_test_it():
    said, *_, on_gpu = cells("Pin memory")
    assert said == "it takes a GPU: `pytest benchmarks/test_pinned_memory.py`"
    assert on_gpu.startswith("no run on a GPU is published yet")


def test_a_claim_is_counted_by_verdicts_and_its_places_are_named():
    said, where, _, much, _ = cells(
        "Mixed precision is faster",
        effect("test_mixed_precision.py::test_mixed_precision", "amp bf16", 1.5, workload="bert"),
        effect("test_mixed_precision.py::test_mixed_precision", "amp fp16", 0.5, "slower", workload="mlp"),
        effect("test_mixed_precision.py::test_mixed_precision", "amp bf16", 1.0, "undecided"),
    )
    assert said == "**holds** in 1 of 3, slower in 1, undecided in 1"
    assert where == "bert"
    assert much == "1.50× (1.35–1.65) with amp bf16 on bert to 0.500× (0.450–0.550) with amp fp16 on mlp"


def test_a_warning_holds_where_a_level_is_slower():
    test = "test_log_interval.py::test_log_interval"
    assert cells("Avoid `.item()` in loops", effect(test, "log-interval every-step", 0.5, "slower"))[0].startswith(
        "**h"
    )
    said = cells("Avoid `.item()` in loops", effect(test, "log-interval every-step", 1.0, "same"))[0]
    assert said == "**does not hold** in any of 1, no difference in 1"


def test_nothing_is_claimed_of_what_is_undecided():
    said, where, _, much, _ = cells(
        "Prefetch in `tf.data`", effect("test_tf_data.py::test_prefetch", "prefetch 1", 1.1, "undecided")
    )
    assert (said, where, much) == ("**undecided** in 1 of 1", "", "nothing is decided")


def test_tens_of_times_is_ten_times_by_the_near_end_of_the_interval():
    gpu = [
        effect("test_device.py::test_device", "device cuda:0", 10.5),
        effect("test_device.py::test_device", "device cuda:0", 30.0),
    ]
    on_gpu = cells("GPUs are tens of times faster", gpu=gpu)[-1]
    assert on_gpu.startswith("**holds** in 1 of 2, faster by less than 10× in 1")


def test_memory_is_halved_where_at_most_55_percent_is_left():
    test, mib = "test_mixed_precision.py::test_mixed_precision", 2**20
    said, where, _, much, _ = cells(
        "Mixed precision halves memory",
        effect(test, "amp bf16", memory=(54 * mib, 100 * mib), workload="cnn"),
        effect(test, "amp bf16", memory=(80 * mib, 100 * mib), workload="bert"),
        effect(test, "amp bf16", memory=(100 * mib, 100 * mib)),
        effect(test, "amp bf16"),  # its memory was not measured
    )
    assert said == "**holds** in 1 of 3, less memory, but not half, in 1, the same memory in 1"
    assert where == "cnn"
    assert much == "0.54× the memory on cnn to 1.0× the memory on net"


def test_a_batch_that_never_reaches_the_accuracy_counts_as_a_case():
    said, _, sizes, *_ = cells(
        "Larger batches learn sooner",
        effect("test_accuracy.py::test_larger_batches", "batch-size 512, learning-rate-scaling linear", 3.0),
        times_to_accuracy=[
            {"workload": "digits", "sentence": "batch size 512 learns", "arms": [{"missed": False}, {"missed": True}]}
        ],
    )
    assert (said, sizes) == ("**holds** in 1 of 2, never there in 1", "digits: batch size 512 learns")


def test_only_the_smallest_size_tests_what_is_said_of_small_arrays():
    test = "test_vectorise.py::test_expression_compiler"
    name = next(name for name in ROWS if name.startswith("Small arrays lose: "))
    said, where, sizes, *_ = cells(
        name,
        effect(test, "expression-compiler numba", 0.5, "slower", workload="sum", problem="elements 10000"),
        effect(test, "expression-compiler numba", 3.0, "faster", workload="sum", problem="elements 1000000"),
        crossovers=[
            {
                "test": f"benchmarks/{test}", "level": "expression-compiler numba", "workload": "sum",
                "axis": "elements", "direction": "up", "crossover": 123_456.0,
            }
        ],
    )  # fmt: skip
    assert (said, where) == ("**holds** in 1 of 1", "sum (elements 10,000)")
    assert sizes == "expression-compiler numba pays above elements 120,000 on sum"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.text)
def test_every_claim_names_a_module_of_the_suite(claim):
    assert (Path(__file__).parents[2] / "benchmarks" / f"{claim.module}.py").is_file()

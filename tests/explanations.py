"""A run with its explanation, as `accelbench explain` keeps it, for the tests of the code that reads both."""

from pathlib import Path
from typing import Any

from runs import arm, effect, run, trial

from accelbench.schema.result import Run
from accelbench.schema.run_explanation import (
    SCHEMA_VERSION,
    ExplainedEffect,
    OperatorChange,
    PredictedEffect,
    RunExplanation,
)

STORED = Path(__file__).parent / "data" / "explanation_v1.explained"
AMP = "benchmarks/test_amp.py::test_amp[mlp-train]"
WORKERS = "benchmarks/test_workers.py::test_workers[image-loading]"
CHANNELS = "benchmarks/test_memory_format.py::test_memory_format[cnn-train]"


def explained_run(**settings: Any) -> Run:
    """Return a run of three trials: one slows down, one keeps to what its profile allows, one surpasses it."""
    return run(
        trial(
            arm({"amp": "fp32"}, 1e-3),
            arm({"amp": "bf16"}, 0.9e-3, effect=effect(1.12, 1.07, 1.18, "faster")),
            arm({"amp": "fp16"}, 9e-3, effect=effect(0.107, 0.101, 0.112, "slower")),
            id=AMP,
            workload="mlp-train",
        ),
        trial(
            arm({"workers": "0"}, 2e-3),
            arm({"workers": "1"}, 3e-3, effect=effect(0.668, 0.509, 0.876, "slower")),
            id=WORKERS,
            workload="image-loading",
            kinds={"workers": "sweep"},
        ),
        trial(
            arm({"memory_format": "contiguous"}, 4e-3),
            arm({"memory_format": "channels-last"}, 1e-3, effect=effect(4.0, 3.8, 4.2, "faster")),
            id=CHANNELS,
            workload="cnn-train",
        ),
        settings={"noise": 0.01, "seed": 3, "size": "small"} | settings,
    )


def explanation(**fields: Any) -> RunExplanation:
    """Return the explanation of that run."""
    known = explained_run()
    given = {
        "schema_version": SCHEMA_VERSION,
        "machine": known.machine,
        "environment": known.environment,
        "created": "2026-01-02T00:00:00+00:00",
        "spent_s": 61.0,
        "predictions": [
            predicted(AMP, {"amp": "bf16"}, "products and convolutions", 0.5),
            predicted(AMP, {"amp": "fp16"}, "products and convolutions", 0.5),
            predicted(CHANNELS, {"memory_format": "channels-last"}, "convolutions", 0.4),
            PredictedEffect(
                trial=WORKERS,
                levels={"workers": "1"},
                touches="waiting for the loader",
                share=0.98,
                low=0.9,
                high=1.0,
            ),
        ],
        "reasons": [
            ExplainedEffect(
                trial=AMP,
                levels={"amp": "fp16"},
                asked="slower",
                sentences=["by profile, it adds time in mm (502 µs → 8.13 ms)", "casts take 391 µs more"],
                operators=[
                    OperatorChange(name="mm", before_s=502e-6, after_s=8.13e-3, calls_before=3, calls_after=3),
                    OperatorChange(name="_to_copy", before_s=0.0, after_s=391e-6, calls_before=0, calls_after=15),
                ],
                before_s=1e-3,
                after_s=9e-3,
            )
        ],
        "left_out": 2,
        "not_profiled": ["kernels unfused, vector-add, cupy: nothing profiles it"],
    }
    return RunExplanation(**given | fields)


def predicted(trial: str, levels: dict[str, str], touches: str, share: float) -> PredictedEffect:
    """Return a prediction whose share of the time is known well."""
    return PredictedEffect(
        trial=trial, levels=levels, touches=touches, share=share, low=share - 0.02, high=share + 0.02
    )

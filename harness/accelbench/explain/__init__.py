"""What holds a program back, where its time goes, and what to switch on: behind `accelbench explain`.

`profile` says what to look at, from a pass under profilers. `parts` are taken off in pairs, without a profiler.
`causes` are what the two say together.
"""

from accelbench.explain.explanation import as_json, as_markdown, as_text
from accelbench.explain.prediction import prediction_table
from accelbench.explain.request import ExplanationRequest
from accelbench.explain.run_session import explain_effects, explain_run
from accelbench.explain.session import explain, predict_speedups
from accelbench.explain.technique_session import explain_technique
from accelbench.explain.why import reasons_as_json, reasons_as_text

__all__ = [
    "ExplanationRequest",
    "as_json",
    "as_markdown",
    "as_text",
    "explain",
    "explain_effects",
    "explain_run",
    "explain_technique",
    "predict_speedups",
    "prediction_table",
    "reasons_as_json",
    "reasons_as_text",
]

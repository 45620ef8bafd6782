"""The autotuner behind `accelbench advise`: search a space of configurations within a time budget.

`session` goes from a user's request to the advice. `search` decides which configurations are measured and which are
dropped, and knows neither workers nor frameworks.
"""

from accelbench.advise.advice import as_json, as_text
from accelbench.advise.search import Limits
from accelbench.advise.session import Request, advise

__all__ = ["Limits", "Request", "advise", "as_json", "as_text"]

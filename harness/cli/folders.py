"""The folders that commands read and write unless told otherwise."""

from __future__ import annotations

from pathlib import Path

RESULTS, CERTIFICATES = Path("results"), Path("certificates")

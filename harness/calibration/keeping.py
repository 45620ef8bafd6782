"""Where certificates are kept: numbered files in a folder per machine, whole or not at all."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from harness.certificate import Certificate, to_json
from harness.durable import write_whole
from harness.errors import BadInput


def require_folder(folder: Path) -> None:
    """See that certificates can be written, before minutes go into measuring one.

    Raises:
        BadInput: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _unwritable(folder, error) from None


def keep(certificate: Certificate, folder: Path) -> Path:
    """Write a certificate under the next number, and return its path.

    Raises:
        BadInput: the folder cannot be written.
    """
    place = folder / certificate.machine
    try:
        place.mkdir(parents=True, exist_ok=True)
        number = max((int(path.stem) for path in place.glob("*.json") if path.stem.isdecimal()), default=0) + 1
        path = place / f"{number:04}.json"
        write_whole(path, json.dumps(to_json(certificate), indent=1, allow_nan=False).encode())
    except OSError as error:
        raise _unwritable(place, error) from None
    return path


def _unwritable(folder: Path, error: OSError) -> BadInput:
    return BadInput(
        f"{folder}: certificates cannot be written ({error.strerror or error}); name another folder with --output"
    )

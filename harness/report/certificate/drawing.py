"""The page of a certificate, brought to disk."""

from __future__ import annotations

from pathlib import Path

from harness.certificate import Certificate
from harness.durable import write_whole
from harness.errors import BadInput
from harness.report.certificate.page import certificate_page


def draw_certificate(certificate: Certificate, path: Path) -> Path:
    """Write the page of a certificate beside its file, and return it.

    Raises:
        BadInput: it cannot be written.
    """
    page = path.with_suffix(".html")
    try:
        write_whole(page, certificate_page(certificate).encode())
    except OSError as error:
        raise BadInput(f"{page}: the certificate's page cannot be written ({error.strerror or error})") from None
    return page

"""What a machine's calibration certificate shows, as a page of its own and in a report."""

from harness.report.certificate.drawing import draw_certificate
from harness.report.certificate.page import certificate_page
from harness.report.certificate.words import Certified, certified, in_brief

__all__ = ["Certified", "certificate_page", "certified", "draw_certificate", "in_brief"]

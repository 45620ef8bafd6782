"""Is the measuring right on this machine? Comparisons of known truth, and the certificate that they make."""

from harness.calibration.calibrating import calibrate
from harness.calibration.keeping import keep, require_folder
from harness.calibration.progress import Progress

__all__ = ["Progress", "calibrate", "keep", "require_folder"]

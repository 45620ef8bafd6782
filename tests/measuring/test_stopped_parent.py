"""A parent that is stopped for longer than its worker may be silent, as by Ctrl-Z in a terminal."""

import signal
import subprocess
import sys
import time

import pytest

SILENCE_S, WORK_S, STOPPED_S = 3.0, 5.0, 3.5
PARENT = f"""
import time
from accelbench.measuring.workers.process import Worker

worker = Worker("numpy", {{}})
worker.ask("import")
print("asking", flush=True)
print("slept:", worker.ask("call", time.sleep, ({WORK_S},), silence_s={SILENCE_S}), flush=True)
worker.close()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no process can be stopped there")
def test_the_time_in_which_it_is_stopped_does_not_count_against_the_worker() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "asking\n"
        time.sleep(0.5)
        parent.send_signal(signal.SIGSTOP)
        time.sleep(STOPPED_S)
        parent.send_signal(signal.SIGCONT)
        output, _ = parent.communicate(timeout=60)
    assert output == "slept: None\n"

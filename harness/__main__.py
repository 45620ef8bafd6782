"""`python -m harness` is `accelbench`."""

from harness.cli import main

main(prog_name="accelbench")

"""`python -m accelbench` is `accelbench`."""

from accelbench.cli import main

main(prog_name="accelbench")

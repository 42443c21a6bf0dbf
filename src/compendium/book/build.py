"""The pages of the book from what was executed: assembled, and written by Sphinx as Jupyter Book sets it up.

Jupyter Book's own command writes with one process. What did not change is not read again: a build that had a warning
leaves nothing behind that could be kept, so that a kept page is one without.
"""

import argparse
import re
import shutil
import sys

from jupyter_book.sphinx import build_sphinx

from compendium import paths
from evenspan.core.errors import FairError

from . import stage
from .engine import redirected

_TROUBLE = re.compile(r"WARNING|ERROR|CRITICAL|[a-z]rror:")


def build(jobs: int) -> bool:
    """Write the book into ``_build/html``; whether it is without warnings. What Sphinx says goes to standard output."""
    root, html, doctrees = paths.root(), paths.build("html"), paths.build(".doctrees")
    if stage.stage():  # pages came or went: every page shows the contents
        shutil.rmtree(doctrees, ignore_errors=True)
    if not doctrees.is_dir():
        shutil.rmtree(html, ignore_errors=True)
    failed = build_sphinx(
        paths.build("stage"),
        html,
        noconfig=True,
        path_config=root / "_config.yml",
        confoverrides={"external_toc_path": str(root / "_toc.yml"), "latex_individualpages": False, "nitpicky": True},
        doctreedir=doctrees,
        warningiserror=True,
        keep_going=True,
        quiet=True,
        jobs=jobs,
    )
    if failed:
        shutil.rmtree(doctrees, ignore_errors=True)
    return not failed


def main() -> int:
    """Entry point of ``python -m compendium.book.build --jobs N``; all that was said stands in ``_build/book.log``."""
    parser = argparse.ArgumentParser(prog="python -m compendium.book.build", description=main.__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    jobs, log = parser.parse_args().jobs, paths.build("book.log")
    with redirected(log):
        try:
            well, said = build(jobs), ""
        except FairError as error:
            well, said = False, str(error)
    if well:
        return 0
    trouble = [line for line in log.read_text(encoding="utf-8").splitlines() if _TROUBLE.search(line)]
    print(*([said] if said else trouble), f"The book was not built; the whole log is {log}", sep="\n", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

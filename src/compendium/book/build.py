"""The pages of the book from what was executed: assembled, and written by Sphinx as Jupyter Book sets it up.

Jupyter Book's own command writes with one process. What did not change is not read again: a build that had a warning
leaves nothing behind that could be kept, so that a kept page is one without.
"""

import argparse
import gc
import os
import shutil
import sys

from jupyter_book.sphinx import build_sphinx

from compendium import paths, records
from compendium.ledger import state, table
from evenspan.core.errors import FairError

from . import stage

SETTINGS = "settings.sha256"


def build(jobs: int) -> bool:
    """Write the book into ``_build/html``; whether it is without warnings."""
    root, html, doctrees = paths.root(), paths.build("html"), paths.build(".doctrees")
    settings = doctrees / SETTINGS
    # Where pages came or went, every page shows other contents.
    if stage.stage() or not settings.is_file() or settings.read_bytes() != _settings():
        shutil.rmtree(doctrees, ignore_errors=True)
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
        return False
    records.write(settings, _settings())
    return True


def _settings() -> bytes:
    """A digest of what decides how pages are read and written, beside the pages."""
    root = paths.root()
    files = [root / "_config.yml", root / "requirements.lock", *sorted((root / "book" / "_ext").glob("*.py"))]
    return records.digest(b"".join(file.read_bytes() for file in files)).encode()


def main() -> int:
    """Entry point of ``python -m compendium.book.build --jobs N``."""
    parser = argparse.ArgumentParser(prog="python -m compendium.book.build", description=main.__doc__)
    parser.add_argument("--jobs", type=int, default=1)
    jobs = parser.parse_args().jobs
    os.environ[records.ONCE] = str(paths.build("once"))
    gc.set_threshold(100_000, 50, 100)  # trees of nodes, read and dropped whole: a fifth of the time went into looking
    try:
        if not build(jobs):
            return 1
    except FairError as error:
        print(error, file=sys.stderr)
        return 1
    print(state.sentence(table.counts(table.ledger())))
    print(f"The book: {paths.build('html', 'index.html')}   (with search summaries: make serve)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

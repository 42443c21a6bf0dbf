"""The commands that keep the compendium: ``changes``, ``crate``, ``archive``, ``pdf`` and ``site``."""

from pathlib import Path
from typing import Annotated

import typer

from evenspan.core.errors import ConfigurationError

_Book = Annotated[Path | None, typer.Option("--book", help="The built book; by default that of the checkout.")]


def crate(
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Folder of the crate; by default _build/crate.")
    ] = None,
    experiment: Annotated[
        list[str] | None, typer.Option(help="Only this experiment; may be repeated. By default all.")
    ] = None,
) -> None:
    """Write the results as an RO-Crate: every file described with its origin, seed, data, licence and checksum."""
    from .keep import crate as report
    from .paths import build

    described = report.write(output or build("crate"), experiment)
    typer.echo(f"Written: {described} ({_size(described.stat().st_size)})")


def archive(
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder of the archive.")] = None,
    allow_dirty: Annotated[
        bool, typer.Option("--allow-dirty", help="Accept sources that differ from their commit; the name says so.")
    ] = False,
    verify: Annotated[Path | None, typer.Option(metavar="FILE", help="Check an archive; write nothing.")] = None,
) -> None:
    """Write a release archive of sources, results and book with checksums; or check one."""
    from .keep import archive as report
    from .keep import archive_check

    if (output is None) == (verify is None) or (verify is not None and allow_dirty):
        raise ConfigurationError("Give either -o FOLDER, to write an archive, or --verify FILE alone, to check one.")
    if verify is not None:
        files, digest = archive_check.verify(verify)
        typer.echo(f"{verify}: {files} files are as they were listed.\nSHA-256 of the archive: {digest}")
        return
    made = report.write(output, allow_dirty=allow_dirty)
    typer.echo(f"Written: {made.path} ({_size(made.bytes)}; {made.files} files, {_size(made.unpacked)} unpacked)")
    typer.echo(f"SHA-256: {made.sha256}")


def pdf(
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Name of the PDF.")] = None,
    page: Annotated[list[str] | None, typer.Option(help="Only this page of _toc.yml; may be repeated.")] = None,
    book: _Book = None,
) -> None:
    """Print the built book as one PDF with outline, page numbers and inner links; needs Chromium."""
    from .keep import book_pdf

    made = book_pdf.write(book, output, page or ())
    typer.echo(f"{made.printed} pages printed, {made.kept} kept from before")
    typer.echo(f"Written: {made.path} ({made.leaves} leaves, {_size(made.bytes)})")


def site(
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder of versions; by default _site.")] = None,
    version: Annotated[str | None, typer.Option(help="Name of the version; by default that of the package.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace this version if it is there.")] = False,
    book: _Book = None,
) -> None:
    """Add the built book to a folder of versions that any web server can show."""
    from importlib.metadata import version as installed

    from .keep import versions
    from .paths import build, root

    made = versions.add(
        book or build("html"), output or root() / "_site", version or installed("evenspan"), replace=replace
    )
    typer.echo(f"Written: {made.folder} ({made.files} files in this version; versions: {', '.join(made.versions)})")


def changes(commit: Annotated[str, typer.Argument(metavar="COMMIT", help="Commit or tag to compare with.")]) -> None:
    """Count the stored numbers that differ from those of a commit, for the changelog."""
    from .cli_data import rows_of, show
    from .keep.changed_numbers import changed

    table = rows_of("experiment", "in both", "differ", "new", "gone", "largest relative difference")
    found = changed(commit)
    for one in found:
        table.add_row(one.experiment, *map(str, (one.both, one.differing, one.new, one.gone)), f"{one.largest:.3g}")
    show(table)
    typer.echo(f"{sum(one.differing for one in found)} numbers differ from those of {commit}.")


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    for command in (changes, crate, archive, pdf, site):
        app.command()(command)


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"

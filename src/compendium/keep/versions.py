"""A folder of built books, one for each version, that any web server can show.

.. code-block:: text

    _site/
        index.html       leads to the latest version, without a script
        versions.json    all versions, the latest first
        versions.js      the same for pages that are opened from a disk, where a page may read no other file
        0.1.0/           a built book
        latest/          a copy of the latest one

A page knows which version it is; what is newer stands in the two lists. So a version that is added changes no file of
an older one, and readers of the older one are told all the same.
"""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

from packaging.version import InvalidVersion, Version

from evenspan.core.errors import ConfigurationError, ResultError

from .. import records
from . import built

_NOTE = "version-note.js"


class Site(NamedTuple):
    """The folder, all versions from the latest down, and the number of files of the one that was added."""

    folder: Path
    versions: tuple[str, ...]
    files: int


def add(html: Path, folder: Path, version: str, *, replace: bool = False) -> Site:
    """Add a built book to a folder of versions, which is made if it does not exist, under a name such as ``0.1.0``.

    Raises
    ------
    ResultError
        There is no book, the folder holds something else, or it has this version already and is not to ``replace`` it.
    """
    html, folder = Path(html), Path(folder)
    try:
        named = str(Version(version)) == version
    except InvalidVersion:
        named = False
    if not named:
        raise ConfigurationError(
            f"{version!r} is no version; it should look like 0.1.0, so that versions can be ordered."
        )
    built.there(html)
    known = _known(folder)
    if version in known and not replace:
        raise ResultError(
            f"{folder} has version {version} already, and what was published is not changed in silence. Give the book "
            "another version (pyproject.toml), or --replace."
        )
    part = folder / f".{version}.part"
    shutil.rmtree(part, ignore_errors=True)
    shutil.copytree(html, part)
    for page in sorted(part.rglob("*.html")):
        _mark(page, part, version)
    records.write(part / "_static" / _NOTE, _SCRIPT.encode())
    _replace(part, folder / version)
    versions = tuple(sorted({*known, version}, key=Version, reverse=True))
    if versions[0] == version:
        shutil.rmtree(part, ignore_errors=True)
        shutil.copytree(folder / version, part)
        _replace(part, folder / "latest")
    text = json.dumps({"latest": versions[0], "versions": versions}, indent=2) + "\n"
    records.write(folder / "versions.js", f"window.evenspanVersions = {text.rstrip()};\n".encode())
    records.write(folder / "versions.json", text.encode())
    records.write(folder / "index.html", _first_page(versions).encode())
    return Site(folder, versions, sum(one.is_file() for one in (folder / version).rglob("*")))


def _known(folder: Path) -> list[str]:
    listed = folder / "versions.json"
    if listed.is_file():
        try:
            known = json.loads(listed.read_text(encoding="utf-8"))["versions"]
        except (ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{listed} is damaged ({error!r}). Restore it, or begin in an empty folder.") from error
        if missing := [name for name in known if not (folder / name / "index.html").is_file()]:
            raise ResultError(f"{listed} names {', '.join(missing)}, which {folder} does not hold. Restore it.")
        return list(known)
    if folder.is_dir() and any(one for one in folder.iterdir() if not one.name.startswith(".")):
        raise ResultError(f"{folder} holds other files and no versions.json; name an empty or a new folder.")
    return []


def _replace(part: Path, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)


def _mark(page: Path, book: Path, version: str) -> None:
    """Tell a page its version and where the list of versions is."""
    name = page.relative_to(book)
    up = "../" * (len(name.parts) - 1)
    tags = (
        f'<script defer src="{up}../versions.js"></script>\n<script defer src="{up}_static/{_NOTE}" '
        f'data-version="{version}" data-page="{name.as_posix()}" data-site="{up}../"></script>\n'
    )
    text = page.read_text(encoding="utf-8")
    head, mark, rest = text.partition("</head>")
    if not mark:
        return  # a fragment that other pages include
    page.write_text(f"{head}{tags}{mark}{rest}", encoding="utf-8")


def _first_page(versions: tuple[str, ...]) -> str:
    items = "\n".join(f'<li><a href="{name}/index.html">{name}</a></li>' for name in versions)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="0; url=latest/index.html">
<title>evenspan</title>
</head>
<body>
<h1>evenspan</h1>
<p><a href="latest/index.html">The latest version, {versions[0]}</a></p>
<p>All versions:</p>
<ul>
{items}
</ul>
</body>
</html>
"""


# The list comes from a script, because a page that is opened from a disk may not read another file.
_SCRIPT = """// Says on a page of an older version that there is a newer one.
(() => {
  "use strict";
  const { version, page, site } = document.currentScript.dataset;
  const known = window.evenspanVersions;
  if (!known || known.latest === version) return;
  const note = document.createElement("p");
  note.className = "version-note";
  note.setAttribute("role", "note");
  note.style.cssText =
    "margin:0;padding:.5rem 1rem;background:#fff4ce;color:#3b2f00;border-bottom:1px solid #b58a00;" +
    "font-size:.9rem;text-align:center";
  const link = document.createElement("a");
  link.href = `${site}latest/${page}`;
  link.textContent = `latest is ${known.latest}`;
  link.style.cssText = "color:#003e7a;text-decoration:underline";
  const all = document.createElement("a");
  all.href = `${site}index.html`;
  all.textContent = "all versions";
  all.style.cssText = link.style.cssText;
  // A page that is new or has moved is not there in the other version: its first page is.
  if (location.protocol.startsWith("http")) {
    fetch(link.href, { method: "HEAD" })
      .then((answer) => answer.ok || (link.href = `${site}latest/index.html`))
      .catch(() => {});
  }
  note.append(`You read version ${version}; the `, link, " (", all, ").");
  document.body.prepend(note);
})();
"""

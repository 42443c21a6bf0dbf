"""A folder of versions: older ones stay as they are and still tell their readers of newer ones."""

import hashlib
import json
from pathlib import Path

import pytest

from compendium.keep import versions
from compendium.keep.browser import served
from evenspan.core.errors import ConfigurationError, ResultError


@pytest.fixture
def book(tmp_path):
    """A book of two pages; call it to write it anew with another text."""

    def write(text: str, page: str = "papers/one") -> Path:
        html = tmp_path / "html"
        for name in ("index", page):
            path = html / f"{name}.html"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"<!doctype html><html><head><title>x</title></head><body><h1>{text}</h1></body></html>")
        (html / "_static").mkdir(exist_ok=True)
        (html / "_static" / "part.html").write_text("<p>no head</p>")
        return html

    return write


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_version_that_is_added_changes_no_older_one(book, tmp_path):
    folder = tmp_path / "site"
    first = versions.add(book("first"), folder, "0.9.0")
    assert first.versions == ("0.9.0",)
    old = digests(folder / "0.9.0")
    assert digests(folder / "latest") == old
    second = versions.add(book("second", "papers/two"), folder, "0.10.0")
    assert second.versions == ("0.10.0", "0.9.0")  # as numbers, not as text
    assert digests(folder / "0.9.0") == old
    assert digests(folder / "latest") == digests(folder / "0.10.0")
    assert json.loads((folder / "versions.json").read_text()) == {"latest": "0.10.0", "versions": ["0.10.0", "0.9.0"]}
    # A correction of an older line is no latest version.
    third = versions.add(book("third"), folder, "0.9.1")
    assert third.versions == ("0.10.0", "0.9.1", "0.9.0")
    assert digests(folder / "latest") == digests(folder / "0.10.0")
    assert (folder / "0.9.1" / "_static" / "part.html").read_text() == "<p>no head</p>"


def test_what_was_published_is_not_changed_in_silence(book, tmp_path):
    folder = tmp_path / "site"
    versions.add(book("first"), folder, "0.1.0")
    before = digests(folder)
    with pytest.raises(ResultError, match=r"has version 0\.1\.0 already.*--replace"):
        versions.add(book("other"), folder, "0.1.0")
    assert digests(folder) == before
    versions.add(book("other"), folder, "0.1.0", replace=True)
    assert "other" in (folder / "latest" / "index.html").read_text()


def test_wrong_folders_and_names_are_refused(book, tmp_path):
    html = book("x")
    for name in ("latest", "../up", "v1", ""):
        with pytest.raises(ConfigurationError, match="no version"):
            versions.add(html, tmp_path / "site", name)
    with pytest.raises(ResultError, match="make book"):
        versions.add(tmp_path / "nothing", tmp_path / "site", "1.0")
    with pytest.raises(ResultError, match="holds other files"):
        versions.add(html, html, "1.0")
    versions.add(html, tmp_path / "site", "1.0")
    (tmp_path / "site" / "1.0" / "index.html").unlink()
    with pytest.raises(ResultError, match=r"names 1\.0, which"):
        versions.add(html, tmp_path / "site", "1.1")
    (tmp_path / "site" / "versions.json").write_text("{")
    with pytest.raises(ResultError, match="damaged"):
        versions.add(html, tmp_path / "site", "1.1")


@pytest.fixture
def site(book, tmp_path):
    folder = tmp_path / "site"
    versions.add(book("first"), folder, "0.9.0")
    versions.add(book("second"), folder, "0.10.0")
    (folder / "0.10.0" / "only-old.html").unlink(missing_ok=True)
    return folder


@pytest.mark.browser
def test_a_reader_of_an_old_version_is_told(browser, site):
    with served(site) as address:
        page = browser.new_page()
        page.goto(f"{address}0.9.0/papers/one.html")
        note = page.get_by_role("note")
        assert note.inner_text() == "You read version 0.9.0; the latest is 0.10.0 (all versions)."
        note.get_by_role("link", name="latest").click()
        assert page.url == f"{address}latest/papers/one.html"
        assert page.locator("h1").inner_text() == "second"
        assert page.get_by_role("note").count() == 0
        page.close()


@pytest.mark.browser
def test_a_page_that_the_latest_version_lacks_leads_to_its_first_page(browser, site):
    (site / "latest" / "papers" / "one.html").unlink()
    with served(site) as address:
        page = browser.new_page()
        with page.expect_response(f"{address}latest/papers/one.html") as answer:
            page.goto(f"{address}0.9.0/papers/one.html")
        assert answer.value.status == 404
        link = page.get_by_role("note").get_by_role("link", name="latest")
        page.wait_for_function("one => one.href.endsWith('latest/index.html')", arg=link.element_handle())
        page.close()


@pytest.mark.browser
def test_it_works_from_a_disk_and_without_scripts(browser, site):
    page = browser.new_page()
    page.goto((site / "0.9.0" / "index.html").as_uri())
    assert page.get_by_role("note").inner_text().startswith("You read version 0.9.0")
    page.close()
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    with served(site) as address:
        page.goto(address)
        page.wait_for_url(f"{address}latest/index.html")
        assert page.locator("h1").inner_text() == "second"
    context.close()
    # Those whose browser does not follow the redirection find links.
    first = (site / "index.html").read_text()
    assert 'href="latest/index.html"' in first
    assert 'href="0.9.0/index.html"' in first

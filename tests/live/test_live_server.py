"""The server without a browser: who gets in, what a page runs, and what is left."""

import json
import urllib.error
import urllib.request

import pytest

from compendium.catalogue import catalogue
from compendium.errors import RegistryError
from compendium.live import pages
from evenspan.core.errors import ConfigurationError

from .conftest import serving


def status(address: str, method: str = "GET") -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, method=method)) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_only_who_has_the_token_gets_in_and_nothing_is_left(built, tmp_path, monkeypatch):
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    with serving(tmp_path) as (address, _):
        (folder,) = (tmp_path / "tmp").glob("evenspan-live-*")
        assert not folder.stat().st_mode & 0o077
        base, token = address.partition("book/")[0], address.partition("token=")[2]
        assert status(f"{base}api/kernels") == 403
        assert status(f"{base}api/kernels?token=wrong") == 403
        assert status(f"{base}api/kernels?token={token}") == 200
        assert status(f"{base}book/../../../README.md?token={token}") == 404
        assert status(f"{base}api/kernels/{token}?token={token}", "DELETE") == 404  # one that has ended
    assert not folder.exists()


@pytest.mark.parametrize("name", catalogue())
def test_a_page_has_the_notebook_and_a_field_for_each_parameter(name):
    entry = catalogue()[name]
    for execution in entry.executions:
        page = pages.page(f"experiments/{name}", execution)
        values = {field["name"]: field["value"] for field in page["parameters"]}
        assert values == entry.arguments(execution)
        space = {}
        exec(next(c.source for c in page["notebook"].cells if "parameters" in c.metadata.get("tags", ())), {}, space)
        assert space == values
        given = {key: str(value) for key, value in values.items()}
        cell = next(c for c in page["notebook"].cells if "parameters" in c.metadata.get("tags", ()))
        assert pages.parameters(f"experiments/{name}", given) == cell.source
        json.dumps(page)


def test_pages_and_values_that_there_are_not():
    for name in ("reproduce", "../README", "experiments/none", ""):
        with pytest.raises((ConfigurationError, RegistryError)):
            pages.page(name)
    with pytest.raises(ConfigurationError, match="'max_k' is 'many'"):
        pages.parameters("experiments/rathore2025-tables", {"max_k": "many"})

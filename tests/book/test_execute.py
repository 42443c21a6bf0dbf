"""Executing notebooks: parameters, errors, determinism, and nothing left behind."""

import json

import nbformat
import pytest

from compendium import paths
from compendium.book import execute
from evenspan.core.errors import ConfigurationError, ExecutionError, RegistryError

HEAD = "---\nkernelspec: {name: python3, display_name: Python 3}\n---\n# Trial\n\n"
PARAMETERS = (
    '```{code-cell} python\n:tags: [parameters]\ndataset = "adult"\nk = 3\nfraction = 0.5\nflag = True\n```\n\n'
)


def cell(code):
    return f"```{{code-cell}} python\n{code}\n```\n\n"


@pytest.fixture
def chapter(tmp_path):
    def write(text):
        source = tmp_path / "trial.md"
        source.write_text(HEAD + PARAMETERS + text, encoding="utf-8")
        return source

    return write


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"kk": 3}, RegistryError, r"no parameter 'kk'.*'dataset', 'k', 'fraction', 'flag'"),
        ({"k": "3"}, ConfigurationError, r"'k' is '3' \(str\).*type int"),
        ({"k": True}, ConfigurationError, r"'k' is True"),
        ({"flag": 1}, ConfigurationError, r"'flag' is 1"),
        ({"fraction": True}, ConfigurationError, r"'fraction' is True"),
    ],
)
def test_parameters_are_checked_before_anything_runs(chapter, tmp_path, parameters, error, message):
    with pytest.raises(error, match=message):
        execute.execute(chapter(""), tmp_path / "out.ipynb", parameters)
    assert not (tmp_path / "out.ipynb").exists()


def test_a_whole_number_serves_as_float_and_a_default_is_a_plain_value():
    execute.check({"fraction": 1}, {"fraction": 0.5}, paths.root())
    cell = nbformat.v4.new_code_cell("k = len('abc')", metadata={"tags": ["parameters"]})
    with pytest.raises(ConfigurationError, match="plain value"):
        execute.defaults(nbformat.v4.new_notebook(cells=[cell]))


def test_two_runs_are_byte_identical_and_nothing_is_left(chapter, tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    source = chapter(
        cell("import os\nprint(dataset, k, object(), os.environ['OPENBLAS_NUM_THREADS'])\nobject()")
        + cell("import time\nprint('first')\ntime.sleep(0.6)\nprint('second')")  # sent to the notebook in two parts
    )
    for name in ("a.ipynb", "b.ipynb"):
        execute.execute(source, tmp_path / name, {"k": 4})
    first, second = ((tmp_path / name).read_bytes() for name in ("a.ipynb", "b.ipynb"))
    assert first == second
    assert b"adult 4 <object object at 0x\xe2\x80\xa6> 1" in first
    cells = json.loads(first)["cells"]
    assert [output["text"] for output in cells[-1]["outputs"]] == [["first\n", "second\n"]]
    injected = [c for c in cells if "injected-parameters" in c["metadata"].get("tags", [])]
    assert len(injected) == 1
    assert "hide-input" in injected[0]["metadata"]["tags"]
    assert "papermill" not in first.decode()
    assert list(home.iterdir()) == []


def test_a_failed_notebook_is_kept_apart_and_a_warning_is_an_error(chapter, tmp_path):
    target, failed = tmp_path / "failing-trial.ipynb", paths.build("failed", "failing-trial.ipynb")
    with pytest.raises(ExecutionError, match=r"begins with\n  1 / 0\nfailed: ZeroDivisionError: division by zero"):
        execute.execute(chapter(cell("x = 'before'\nx") + cell("1 / 0") + cell("'never'")), target, {})
    assert "before" in failed.read_text(encoding="utf-8")
    failed.unlink()
    with pytest.raises(ExecutionError, match=r"(?s)standard error.*look out"):
        execute.execute(chapter(cell("import warnings\nwarnings.warn('look out')")), target, {})
    failed.unlink()
    assert not target.exists()


def test_command_reports_in_one_line(chapter, tmp_path, capsys):
    assert execute.main([str(chapter("")), str(tmp_path / "out.ipynb"), "--parameters", '{"nope": 1}']) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("trial.md has no parameter 'nope'")


def test_what_is_no_source_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("---\nkernelspec: {}\n# Title\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="never closed"):
        execute.front_matter(page)
    with pytest.raises(ExecutionError, match="does not exist"):
        execute.execute(tmp_path / "none.ipynb", tmp_path / "out.ipynb", {})

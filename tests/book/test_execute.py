"""Executing notebooks: parameters, errors, determinism, limits, and nothing left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

from compendium import paths
from compendium.book import execute, made_of, warm
from evenspan.auditing.execution import clean_room, normalise, run_kernel
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


EVERYTHING = (
    """import sys
import numpy as np, pandas as pd
from IPython.display import HTML, Markdown, display
from matplotlib import pyplot as plt
print("one", end=" "); print("two"); display(HTML("<b>three</b>")); print("four"); 5
""",
    """fig, axes = plt.subplots(); axes.plot([1, 2], [3, 1])
print(_, __name__, sys.modules["__main__"].np is np)
pd.DataFrame({"a": [1.5, np.nan]})
""",
    """display(Markdown("**x**"), metadata={"isolated": True})
plt.subplots(figsize=(3, 2), layout="constrained")[1].set(ylabel="y", title="a b"); None
""",
    """import os
await __import__("asyncio").sleep(0)
display({"text/plain": "plain"}, raw=True)
os.getcwd() == str(__import__("compendium.paths").paths.root())
""",
)


def test_the_output_is_that_of_a_kernel(chapter, tmp_path, monkeypatch):
    monkeypatch.delenv("MPLBACKEND")  # a kernel would show no figures
    source = chapter("".join(map(cell, EVERYTHING)))
    execute.execute(source, tmp_path / "ours.ipynb", {"k": 4})
    with clean_room() as room:
        nbformat.write(execute.read(source), room / "in.ipynb")
        theirs = run_kernel(room / "in.ipynb", room / "out.ipynb", {"k": 4}, paths.root(), room)
    normalise(theirs)
    ours = nbformat.read(tmp_path / "ours.ipynb", as_version=4)
    assert len(ours.cells) == len(theirs.cells) == 7
    for mine, kernels in zip(ours.cells, theirs.cells, strict=True):
        assert mine == kernels
    assert sum("image/png" in output.get("data", {}) for c in ours.cells for output in c.get("outputs", ())) == 2


def test_a_failed_notebook_is_kept_apart_and_a_warning_is_an_error(chapter, tmp_path):
    target, failed = tmp_path / "failing-trial.ipynb", paths.build("failed", "failing-trial.ipynb")
    with pytest.raises(ExecutionError, match=r"begins with\n  1 / 0\nfailed: ZeroDivisionError: division by zero"):
        execute.execute(chapter(cell("x = 'before'\nx") + cell("1 / 0") + cell("'never'")), target, {})
    assert "before" in failed.read_text(encoding="utf-8")
    failed.unlink()
    with pytest.raises(ExecutionError, match=r"(?s)standard error.*look out"):
        execute.execute(chapter(cell("import warnings\nwarnings.warn('look out')")), target, {})
    failed.unlink()
    with pytest.raises(ExecutionError, match="another program wrote: past Python"):
        execute.execute(chapter(cell("import os\nos.system('echo past Python >&2');")), target, {})
    failed.unlink()
    assert not target.exists()


@pytest.mark.parametrize(
    ("limits", "code", "said"),
    [
        ("warm.SECONDS = 1.5", "while True:\n    pass", "TimeoutError: this page took more than the 1.5 seconds"),
        (
            "warm.MEMORY = 2**30",
            "kept = []\nwhile True:\n    kept.append(bytes(2**20)); kept += [[] for _ in range(1000)]",
            "MemoryError: ; a page may take 1 GiB of memory",
        ),
        (
            "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))",
            "print('x' * 10**4)",
            "was not made: [Errno 27] File too large",
        ),
    ],
    ids=["time", "memory", "disk"],
)
def test_what_a_page_may_take_is_limited(chapter, tmp_path, limits, code, said):
    arguments = [str(chapter(cell(code))), str(tmp_path / "limited.ipynb")]
    program = f"import resource\nfrom compendium.book import execute, warm\n{limits}\n"
    program += f"raise SystemExit(execute.main({arguments!r}))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.glob("*limited*"))  # also no part of it
    paths.build("failed", "limited.ipynb").unlink(missing_ok=True)


#: A cell that says its process number in a file and waits.
WAITS = "import os, pathlib, time\npathlib.Path('{}').write_text(str(os.getpid()))\ntime.sleep(60)"


@pytest.fixture
def warmed(monkeypatch):
    """The interpreter from which pages are forked, and a function that starts to ask it for one."""
    monkeypatch.setenv(warm.ADDRESS, "")
    process = warm.start({})

    def ask(*arguments):
        command = [sys.executable, "-m", "compendium.book.warm", *map(str, arguments)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    yield process, ask
    process.stdin.close()
    process.wait(timeout=30)


def test_pages_are_forked_from_one_interpreter_and_end_with_it(chapter, tmp_path, warmed):
    engine, ask = warmed
    source = chapter(
        cell("import os, sys\nstray = 1\nprint(os.getppid(), 'stray' in globals(), 'pandas' in sys.modules)")
    )
    for name in ("first", "second"):
        asked = ask(source, tmp_path / f"{name}.ipynb", "--key", "K")
        said, trouble = asked.communicate(timeout=120)
        assert (asked.returncode, trouble) == (0, "")
        assert said.endswith(f" s  {name}\n")
        assert f"{engine.pid} True True" in (tmp_path / f"{name}.ipynb").read_text()
    assert json.loads((tmp_path / "second.made-of.json").read_text())["key"] == "K"

    # A page that is killed says so; so do those of an interpreter that is killed.
    waiting = chapter(cell(WAITS.format(tmp_path / "pid")))
    asked = ask(waiting, tmp_path / "killed.ipynb")
    os.kill(int(_soon(tmp_path / "pid")), signal.SIGKILL)
    assert "its process was killed" in asked.communicate(timeout=30)[1]
    engine.kill()
    engine.wait()
    asked = ask(source, tmp_path / "third.ipynb")
    assert "has ended. What is finished is kept" in asked.communicate(timeout=30)[1]
    assert asked.returncode == 1


def test_pages_in_the_making_end_with_the_workflow(chapter, tmp_path, warmed):
    engine, ask = warmed
    waiting = chapter(cell(WAITS.format(tmp_path / "pid")))
    asked = ask(waiting, tmp_path / "never.ipynb")
    page = int(_soon(tmp_path / "pid"))
    engine.stdin.close()
    engine.wait(timeout=30)
    asked.communicate(timeout=30)
    for _ in range(100):  # what is killed takes a moment to go
        if not Path(f"/proc/{page}").exists() or Path(f"/proc/{page}/stat").read_text().split()[2] == "Z":
            return
        time.sleep(0.1)
    raise AssertionError("the page went on")


def _soon(path):
    """What is in a file that somebody is about to write."""
    for _ in range(600):
        if path.is_file() and (text := path.read_text()):
            return text
        time.sleep(0.1)
    raise AssertionError(f"{path} was not written")


def test_a_page_is_made_of_what_it_imports_and_reads(chapter, tmp_path, monkeypatch):
    source, target = chapter(cell("from compendium import catalogue\ncatalogue.catalogue();")), tmp_path / "out.ipynb"
    assert made_of.key(target) == "not made yet"
    assert execute_in_a_process(source, target, "--key", "first") == 0
    noted = json.loads((tmp_path / "out.made-of.json").read_text())["files"]
    assert {"experiments.yml", "src/compendium/catalogue.py", "src/evenspan/core/errors.py"} <= noted.keys()
    assert not {"src/compendium/store.py", "src/compendium/book/engine.py"} & noted.keys()
    assert made_of.key(target) == "first"
    digest = made_of._digest
    for other in ("experiments.yml", "src/compendium/catalogue.py", "requirements.lock"):
        monkeypatch.setattr(made_of, "_digest", lambda name, other=other: "edited" if name == other else digest(name))
        made_of._common.cache_clear()
        assert made_of.key(target) not in ("first", "not made yet"), other
    monkeypatch.setattr(
        made_of, "_digest", lambda name: "edited" if name == "src/compendium/store.py" else digest(name)
    )
    made_of._common.cache_clear()
    assert made_of.key(target) == "first"


def execute_in_a_process(*arguments):
    return subprocess.run([sys.executable, "-m", "compendium.book.execute", *map(str, arguments)]).returncode


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


def test_a_page_is_not_kept_when_what_it_shows_is_computed_again(toy_checkout):
    """Also where the new values are not there yet: what was noted agrees with the old ones."""
    made_of._digest.cache_clear()
    made_of._common.cache_clear()
    shown, page = paths.build("once", "shown.json"), paths.build("executed", "page.ipynb")
    for target, name in ((shown, "experiments.yml"), (page, "_build/once/shown.json")):
        target.parent.mkdir(parents=True)
        target.write_text("made")
        noted = {"key": target.stem, "common": made_of._common(), "files": {name: made_of._digest(name)}}
        target.with_suffix(".made-of.json").write_text(json.dumps(noted))
        assert made_of.key(target) == target.stem
    made_of._digest.cache_clear()
    (toy_checkout / "experiments.yml").write_text("edited")
    assert shown.read_text() == "made"
    assert made_of.key(shown) != "shown"
    assert made_of.key(page) != "page"
    made_of._digest.cache_clear()
    made_of._common.cache_clear()

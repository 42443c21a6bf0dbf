"""The directive that puts a derivation beside its code."""

import importlib.util
import subprocess
import sys

import pytest

from compendium import paths

EXTENSIONS = paths.root() / "book" / "_ext"

SOURCE = '''"""A module."""

RATE = 0.5


class Thing:
    """A thing."""

    @property
    def size(self):
        """How large."""
        return 3


def double(x):
    """Twice x.

    >>> double(2)
    4
    """
    # a reason
    return 2 * x


def only_docstring():
    """Nothing else."""
'''


@pytest.fixture(scope="module")
def beside():
    spec = importlib.util.spec_from_file_location("evenspan_beside", EXTENSIONS / "evenspan_beside.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_shown_of_a_source(beside):
    text, first, last = beside._excerpt(SOURCE, "double", docstring=False)
    assert text == "def double(x):\n    # a reason\n    return 2 * x"
    assert SOURCE.splitlines()[first - 1] == "def double(x):"
    assert SOURCE.splitlines()[last - 1] == "    return 2 * x"
    assert '"""Twice x.' in beside._excerpt(SOURCE, "double", docstring=True)[0]
    # A method comes with its decorator and without indentation; a body that is only a docstring stays.
    assert beside._excerpt(SOURCE, "Thing.size", docstring=True)[0].startswith("@property\ndef size(self):\n    ")
    assert beside._excerpt(SOURCE, "RATE", docstring=True)[0] == "RATE = 0.5"
    assert '"""Nothing else."""' in beside._excerpt(SOURCE, "only_docstring", docstring=False)[0]


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("package.module:double", 0, ""),
        ("package.module:treble", 1, "package.module defines no 'treble'"),
        ("package.other:double", 1, "there is no module 'package.other'"),
        ("double", 1, "not of the form"),
    ],
)
def test_strict_build(tmp_path, name, code, said):
    module = tmp_path / "_src" / "package" / "module.py"
    module.parent.mkdir(parents=True)
    module.write_text(SOURCE, encoding="utf-8")
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(EXTENSIONS)!r})\nextensions = ['myst_parser', 'evenspan_beside']\n"
        "myst_enable_extensions = ['dollarmath']\nexclude_patterns = ['_src']\nhtml_theme = 'basic'\n",
        encoding="utf-8",
    )
    (tmp_path / "index.md").write_text(
        f"# Title\n\n````{{beside}} {name}\nA *step* with $x$ and\n\n$$\ny = 2x\n$$ (eq-y)\n````\n\n{{eq}}`eq-y`\n",
        encoding="utf-8",
    )
    run = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-q", str(tmp_path), str(tmp_path / "html")],
        capture_output=True,
        text=True,
    )
    assert run.returncode == code, run.stderr
    assert said in run.stderr
    if code == 0:
        page = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
        assert "<em>step</em>" in page
        assert "src/package/module.py, lines" in page

"""What a protocol reaches: every function that runs is found, and what cannot move a number does not count."""

import sys
from pathlib import Path

import pytest

from evenspan.errors import RegistryError
from evenspan.experiments import experiment, sources
from evenspan.experiments.catalogue import catalogue

FILES = {
    "__init__.py": """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from .methods import Method
def __getattr__(name):
    raise AttributeError(name)
""",
    "methods/__init__.py": "from .method import Method\n",
    "methods/method.py": """
from ..linear import half as halved
from ..base import Base
LIMIT = 3
def decorate(f):
    return f
def default():
    return 1
class Method(Base):
    '''A method.'''
    size = LIMIT
    @decorate
    def fit(self, x, start=default()):
        '''Fit.'''
        # by halves
        return halved(x)
    def solve(self):
        return hidden()
    def draw(self):
        return picture()
    def _private(self):
        return 5
def hidden():
    return 7
def picture():
    return 8
""",
    "base.py": "class Base:\n    def __init__(self):\n        self.x = prepared()\ndef prepared():\n    return 0\n",
    "linear.py": "def half(x):\n    return x / 2\ndef double(x):\n    return x * 2\n",
    "errors.py": "class Wrong(Exception):\n    pass\n",
    "tables.py": "ROWS = {}\nROWS['a'] = 1\ndef load():\n    return ROWS\ndef other():\n    return 0\n",
    "late.py": "def later():\n    return 1\n",
    "experiments/__init__.py": "",
    "experiments/paper.py": """
import numpy as np
from evenspan import Method
from .. import tables
from ..errors import Wrong
SEED = 5
def tasks():
    return [{"k": 1}]
def run_task(k):
    from ..late import later
    if k > 9:
        raise Wrong
    return Method().fit(np.ones(k)), tables.load(), later(), getattr(Method(), "solve")()
def claims():
    return judged()
def judged():
    return 3
""",
}


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "evenspan" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def reached(package):
    return sources.reached("evenspan.experiments.paper", source=package)


def digest(package):
    return sources.digest("evenspan.experiments.paper", source=package)


def edit(package, name, old, new):
    path = package / "evenspan" / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_what_is_reached(package):
    found = {f"{module.removeprefix('evenspan.')}:{name}" for module, name in reached(package)}
    effects = {name for name in found if ":line" in name}
    assert effects == {"tables:line 2"}
    assert found - effects == {
        *("experiments.paper:tasks", "experiments.paper:run_task", "experiments.paper:SEED"),
        *("methods.method:Method", "methods.method:Method.fit", "methods.method:Method.solve"),
        *("methods.method:LIMIT", "methods.method:decorate", "methods.method:default", "methods.method:hidden"),
        *(
            "base:Base",
            "base:Base.__init__",
            "base:prepared",
            "linear:half",
            "tables:ROWS",
            "tables:load",
            "late:later",
        ),
    }


CHANGES = {
    "methods/method.py": [
        ("LIMIT = 3", "LIMIT = 4"),
        ("return halved(x)", "return halved(x) + 1"),
        ("return f", "return f  or 1"),
        ("def default():\n    return 1", "def default():\n    return 2"),
        ("def hidden():\n    return 7", "def hidden():\n    return 8"),
        ("class Method(Base)", "class Method(Base, object)"),
    ],
    "base.py": [("return 0", "return 1"), ("self.x", "self.y")],
    "linear.py": [("x / 2", "x / 3")],
    "tables.py": [("ROWS['a'] = 1", "ROWS['a'] = 2")],
    "late.py": [("return 1", "return 2")],
    "experiments/paper.py": [("SEED = 5", "SEED = 6"), ('"k": 1', '"k": 2')],
}


@pytest.mark.parametrize(("name", "old", "new"), [(n, *pair) for n, pairs in CHANGES.items() for pair in pairs])
def test_a_change_of_what_runs_changes_the_digest(package, name, old, new):
    before = digest(package)
    edit(package, name, old, new)
    assert digest(package) != before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("methods/method.py", "# by halves", "# by other halves, said longer"),
        ("methods/method.py", "'''Fit.'''", "'''Fit it.\n\n        In more lines.\n        '''"),
        ("methods/method.py", "'''A method.'''", ""),
        ("methods/method.py", "return picture()", "return picture() + 1"),
        ("methods/method.py", "def picture():\n    return 8", "def picture():\n    return 9"),
        ("methods/method.py", "        return 5", "        return 6"),
        ("linear.py", "x * 2", "x * 3"),
        ("linear.py", "def double", "\n\n\ndef double"),
        ("tables.py", "def other():\n    return 0", "def other():\n    return 1"),
        ("errors.py", "pass", "code = 3"),
        ("experiments/paper.py", "return 3", "return 4"),
    ],
)
def test_what_cannot_move_a_number_does_not_count(package, name, old, new):
    before = digest(package)
    edit(package, name, old, new)
    assert digest(package) == before


def test_a_definition_that_moves_to_another_file_is_the_same(package):
    before = digest(package)
    edit(package, "linear.py", "def half(x):\n    return x / 2\n", "")
    (package / "evenspan" / "halves.py").write_text('"""New room."""\n\ndef half(x):\n    return x / 2\n')
    edit(package, "methods/method.py", "from ..linear import half as halved", "from ..halves import half as halved")
    assert digest(package) == before


def test_a_module_handed_around_counts_whole(package):
    edit(package, "experiments/paper.py", "tables.load()", "list(vars(tables))")
    assert ("evenspan.tables", "other") in reached(package)


def test_a_protocol_without_entries_or_file_is_refused(package):
    with pytest.raises(RegistryError, match=r"has none of tasks, run_task, SEED"):
        sources.reached("evenspan.linear", source=package)
    with pytest.raises(RegistryError, match=r"no module evenspan.nothing"):
        sources.reached("evenspan.nothing", source=package)


def test_no_protocol_counts_its_claims_or_the_report():
    for entry in catalogue().values():
        places = sources.reached(entry.protocol().__name__)
        assert not any(module.startswith("evenspan.report") or name == "claims" for module, name in places)
        assert len({module for module, _ in places}) > 5


def ran(function, **task) -> set[tuple[str, str]]:
    """Definitions of the package that run while a function does."""
    package = Path(sources.__file__).parents[1]
    found = set()

    def see(frame, event, argument):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(package)) or code.co_name == "<module>":
            return
        name = code.co_qualname.partition(".<locals>")[0]
        module = ".".join(Path(code.co_filename).relative_to(package.parent).with_suffix("").parts)
        found.add((module.removesuffix(".__init__"), name))

    sys.setprofile(see)
    try:
        function(**task)
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("kleindessner2023-illustration", {"draws": 3}),
        ("kleindessner2023-synthetic", {"experiment": "equal moments", "method": "LEACE"}),
        ("rathore2025-tables", {"dataset": "npha"}),
        ("vu2022-components", {"dataset": "ecoli"}),
        ("zhou2024-table", {"dataset": "jaffe", "method": "FKKM"}),
    ],
)
def test_everything_that_runs_is_reached(name, task, raw):
    if "dataset" in task:
        raw(task["dataset"])
    module = experiment(name).protocol()
    places = sources.reached(module.__name__)
    seen = {place for place in ran(module.run_task, **task) if not sources._outside(place[0])}
    named = {(home, name) for home, name in seen if "<" not in name}  # a lambda belongs to the statement it stands in
    assert len(named) > 10
    assert sorted(named - places.keys()) == []

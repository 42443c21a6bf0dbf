"""The plan of the house: imports point down, files stay short, public names are documented, reductions name an axis."""

import ast
import importlib
import inspect
import warnings
from pathlib import Path

import pytest
from numpydoc.validate import validate

import evenspan

SOURCE = Path(evenspan.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

# From the ground up; a module imports its own floor and the floors below.
FLOORS = [
    {"errors", "paths", "linalg"},
    {"groups", "inputs", "running", "kernels", "moments_file", "moments", "streams", "stream_files", "stream_images"}
    | {"dask_alignment", "dask_stream", "dask_chunks", "dask_cluster", "dask_moments", "cluster_counts"},
    {"certificate", "subspace", "estimator"},
    {"reconstruction", "representation", "clustering"},
    {"saving"},
    {"metrics"},
    {"datasets"},
    {"experiments"},
    {"report"},
    {"auditing"},
    {"cli_data", "cli_audit", "cli_keep"},
    {"cli"},
]
FLOOR = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}


def dotted(path: Path) -> tuple[str, ...]:
    """The module of a file, below evenspan: ``("representation", "fair_pca")``; a package without ``__init__``."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports(path: Path, *, when_loaded: bool = False) -> set[tuple[str, ...]]:
    """Modules of evenspan that a file imports, anywhere in it or only when it is loaded, as paths below evenspan."""
    here = dotted(path) if path.name == "__init__.py" else dotted(path)[:-1]
    found = set()
    tree = ast.parse(path.read_text())
    for node in tree.body if when_loaded else ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = here[: len(here) - node.level + 1]
            elif (node.module or "").partition(".")[0] == "evenspan":
                base = ()
            else:
                continue
            module = tuple((node.module or "").split(".")) if node.module else ()
            module = module[1:] if not node.level else module
            for alias in node.names:
                whole = (*base, *module, alias.name)
                found.add(whole if exists(whole) else (*base, *module))
        elif isinstance(node, ast.Import):
            found |= {tuple(a.name.split(".")[1:]) for a in node.names if a.name.partition(".")[0] == "evenspan"}
    return found - {dotted(path)}


def exists(module: tuple[str, ...]) -> bool:
    path = SOURCE.joinpath(*module)
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


MODULES = [path for path in FILES if dotted(path)]


def test_the_reader_of_imports_reads_them():
    fair_pca = imports(SOURCE / "representation" / "fair_pca.py")
    assert {("certificate",), ("estimator",), ("moments",), ("representation", "constraints")} <= fair_pca
    assert ("moments_file",) in imports(SOURCE / "moments.py")  # from . import moments_file
    assert ("representation", "fair_pca") in imports(SOURCE / "representation" / "__init__.py")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_module_has_a_floor_and_imports_point_down(path):
    room = dotted(path)[0]
    assert room in FLOOR, f"{room} has no floor: give it one in this test"
    upward = {
        ".".join(module) or "evenspan" for module in imports(path) if module == () or FLOOR[module[0]] > FLOOR[room]
    }
    assert not upward, f"{room} (floor {FLOOR[room]}) imports {upward}"


def test_no_circle_of_imports():
    graph = {dotted(path): imports(path, when_loaded=True) for path in MODULES}
    done, path = set(), []

    def visit(module):
        assert module not in path, "circle: " + " -> ".join(".".join(m) for m in [*path, module])
        if module in done:
            return
        path.append(module)
        for other in graph.get(module, ()):
            visit(other)
        path.pop()
        done.add(module)

    for module in graph:
        visit(module)


def test_the_judge_knows_no_method():
    for path in (SOURCE / "metrics").rglob("*.py"):
        rooms = {module[0] for module in imports(path)}
        assert not rooms & {"reconstruction", "representation", "clustering", "estimator"}, path


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_stay_short(path):
    assert len(path.read_text().splitlines()) <= 350


# -- documentation ------------------------------------------------------------------------------------------------

CHECKS = [
    "GL01", "GL02", "GL05", "GL08", "GL09", "GL10",  # blank lines, tabs, a docstring at all, directives
    "SS01", "SS02", "SS03", "SS04", "SS06",  # a summary of one line: capital letter, full stop
    "PR01", "PR02", "PR03", "PR04", "PR05", "PR06", "PR07", "PR08", "PR09", "PR10",  # all parameters
    "RT01", "RT02", "RT04", "RT05",  # returned values
    "YD01",
]  # fmt: skip
# RT03 (description of a returned self or array whose shape is the description), ES01, SA01 and EX01 are not asked of
# every method; GL03, GL06 and GL07 know no sections "Guarantees" and "Complexity".


def public_objects() -> dict[str, object]:
    """The exported names and the public methods and properties defined here."""
    found = {}
    for name in evenspan.__all__:
        thing = getattr(evenspan, name)
        found[name] = thing
        if inspect.isclass(thing):
            for member, value in inspect.getmembers(thing):
                module = getattr(inspect.unwrap(getattr(value, "fget", None) or value), "__module__", None) or ""
                callable_or_property = inspect.isroutine(value) or isinstance(value, property)
                if not member.startswith("_") and callable_or_property and module.startswith("evenspan"):
                    found[f"{name}.{member}"] = value
    return found


@pytest.mark.parametrize("name", public_objects())
def test_public_names_are_documented(name):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Unknown section (Guarantees|Complexity)")
        errors = validate(f"evenspan.{name}")["errors"]
    # Methods of the small values say in one sentence what goes in and what comes out.
    small = name.startswith(("GroupMoments.", "FairSubspace.", "Certificate.", "JointRange."))
    waived = {"PR01", "RT01"} if small else set()
    found = [f"{code}: {text}" for code, text in errors if code in CHECKS and code not in waived]
    assert not found, found


def test_what_is_checked_covers_the_interface():
    names = public_objects()
    assert {"FairPCA.fit", "FairPCA.transform", "GroupMoments.from_data", "GroupMoments.n", "StandardPCA.fit_moments",
            "Certificate.is_optimal", "FairSubspace.apply"} <= set(names)  # fmt: skip
    for name in evenspan.__all__:
        assert not name.startswith("_")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_module_says_what_it_is_for(path):
    text = ast.get_docstring(ast.parse(path.read_text()))
    assert text or not path.read_text().strip()
    assert not text or text.splitlines()[0].endswith((".", ":", "?")) or len(text.splitlines()) > 1


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_every_module_can_be_imported_and_its_public_functions_are_documented(path):
    module = importlib.import_module(".".join(("evenspan", *dotted(path))))
    for name, thing in vars(module).items():
        if name.startswith("_") or getattr(thing, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), f"{name} has no docstring"


# -- reductions name their axis -------------------------------------------------------------------------------------

REDUCTIONS = {"mean", "sum", "std", "var", "prod", "median"}


def reductions_without_axis(source: str) -> list[str]:
    """Calls such as ``X.mean()`` or ``np.sum(X)`` that do not say along which axis."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in REDUCTIONS:
            of_numpy = isinstance(node.func.value, ast.Name) and node.func.value.id in ("np", "numpy")
            of_statistics = isinstance(node.func.value, ast.Name) and node.func.value.id in ("statistics", "math")
            # In a chain such as frame.groupby("split")["value"].mean() the rows are named by the grouping.
            grouped = "groupby(" in ast.unparse(node.func.value) or "rolling(" in ast.unparse(node.func.value)
            named = any(k.arg in ("axis", None) for k in node.keywords) or len(node.args) > of_numpy
            if not (named or grouped or of_statistics):
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


# Where arrays have several axes to confuse: all that computes, up to the methods.
NUMERICAL = [path for path in MODULES if FLOOR[dotted(path)[0]] <= FLOOR["representation"]]


@pytest.mark.parametrize("path", NUMERICAL, ids=lambda p: str(p.relative_to(SOURCE)))
def test_reductions_name_their_axis(path):
    assert reductions_without_axis(path.read_text()) == []


def test_the_finder_of_reductions_finds_them():
    assert len(reductions_without_axis("a.mean(); np.sum(b); c.std(ddof=1); d[0].var(); (x > 0).sum()")) == 5
    fine = "a.mean(axis=0); np.sum(b, axis=None); c.mean(0); np.mean(d, 1); sum(e); f.groupby('g').v.mean()"
    assert reductions_without_axis(fine) == []

"""The plan of the house, one test a rule: each lists its offenders. The arrows between rooms are import-linter's."""

import ast
import inspect
import warnings
from pathlib import Path

from numpydoc.validate import validate

import compendium
import evenspan

LIBRARY = Path(evenspan.__file__).parent
SOURCES = LIBRARY.parent
FILES = sorted([*LIBRARY.rglob("*.py"), *Path(compendium.__file__).parent.rglob("*.py")])
MODULES = {path: ".".join(path.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__") for path in FILES}


def test_a_file_holds_one_algorithm_and_no_more():
    assert [str(path) for path in FILES if len(path.read_text().splitlines()) > 500] == []


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

#: Methods of the small values say in one sentence what goes in and what comes out.
SMALL = ("GroupMoments.", "FairSubspace.", "Certificate.", "JointRange.")


def public_objects() -> list[str]:
    """The exported names and the public methods and properties defined here."""
    found = []
    for name in evenspan.__all__:
        thing = getattr(evenspan, name)
        found.append(name)
        for member, value in inspect.getmembers(thing) if inspect.isclass(thing) else ():
            module = getattr(inspect.unwrap(getattr(value, "fget", None) or value), "__module__", None) or ""
            callable_or_property = inspect.isroutine(value) or isinstance(value, property)
            inherited = not value.__doc__ and inspect.getdoc(value)  # the text of the base, where it is checked
            if not member.startswith("_") and callable_or_property and module.startswith("evenspan") and not inherited:
                found.append(f"{name}.{member}")
    return found


def test_public_names_are_documented():
    names, offenders = public_objects(), []
    assert {"StandardPCA.transform", "GroupMoments.from_data", "Certificate.is_optimal"} <= set(names)
    for name in names:
        thing, _, member = name.partition(".")
        own = getattr(getattr(evenspan, thing), member) if member else getattr(evenspan, thing)
        if own.__doc__ is None and inspect.getdoc(own):
            continue  # said once, by the base class
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Unknown section (Guarantees|Complexity)")
            errors = validate(f"evenspan.{name}")["errors"]
        waived = {"PR01", "RT01"} if name.startswith(SMALL) else set()
        offenders += [f"{name}: {code} {text}" for code, text in errors if code in CHECKS and code not in waived]
    assert offenders == []


# -- reductions name their axis -------------------------------------------------------------------------------------

REDUCTIONS = {"mean", "sum", "std", "var", "prod", "median"}
#: Where arrays have several axes to confuse: all that computes, up to the methods.
NUMERICAL = ("core", "reconstruction", "representation", "clustering")


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


def test_reductions_name_their_axis():
    assert len(reductions_without_axis("a.mean(); np.sum(b); c.std(ddof=1); d[0].var(); (x > 0).sum()")) == 5
    fine = "a.mean(axis=0); np.sum(b, axis=None); c.mean(0); np.mean(d, 1); sum(e); f.groupby('g').v.mean()"
    assert reductions_without_axis(fine) == []
    paths = [path for path in FILES if path.is_relative_to(LIBRARY) and path.relative_to(LIBRARY).parts[0] in NUMERICAL]
    assert [f"{path}: {call}" for path in paths for call in reductions_without_axis(path.read_text())] == []

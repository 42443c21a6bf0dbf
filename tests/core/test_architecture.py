"""The plan of the house, one test a rule: each lists its offenders. The arrows between rooms are import-linter's."""

import warnings
from pathlib import Path
from types import FunctionType

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

#: Methods of the small values and of the frames say in one sentence what goes in and what comes out.
SMALL = {
    "GroupMoments", "FairSubspace", "Certificate", "JointRange", "GroupFrame", "ClusterFrame", "ClusterCounts",
    "TableEncoder", "audit_example",
}  # fmt: skip


def test_public_names_are_documented():
    exported = [getattr(evenspan, name) for name in evenspan.__all__]
    kinds = {
        one for thing in exported for one in getattr(thing, "__mro__", ()) if one.__module__.startswith("evenspan")
    }
    names = [(name, name in SMALL) for name in evenspan.__all__]
    for kind in kinds:
        for member, value in vars(kind).items():
            if (
                not member.startswith("_")
                and isinstance(value, FunctionType | classmethod | property)
                and value.__doc__
            ):
                small = kind.__name__ in SMALL or member == "plot"
                names.append((f"{kind.__module__.removeprefix('evenspan.')}.{kind.__name__}.{member}", small))
    assert len(names) > 100
    offenders = []
    for name, small in names:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Unknown section (Guarantees|Complexity)")
            errors = validate(f"evenspan.{name}")["errors"]
        waived = {"PR01", "RT01"} if small else set()
        offenders += [f"{name}: {code} {text}" for code, text in errors if code in CHECKS and code not in waived]
    assert offenders == []

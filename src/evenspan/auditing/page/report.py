"""The report of an audit: one page that a reader without statistics can begin and one with it can check.

What it says stands in ``report.html``; here are the numbers, tables and figures that it says it of.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING

from .. import writing
from ..fitting import PCA
from . import evidence
from .blocks import listed, page
from .evidence import View

if TYPE_CHECKING:
    from ..run import Audit

#: Packages that decide a number.
PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn")
#: More columns than these are folded until they are asked for.
MOST_COLUMNS = 20


def render(audit: "Audit") -> str:
    """The report as one HTML page: no script, no address outside it; whatever came from the table is escaped."""
    sample, settings = audit.sample, audit.settings
    columns = audit.tables["columns"]
    return page(
        audit=audit,
        sample=sample,
        settings=settings,
        version=version("evenspan"),
        attributes=listed(sample.attributes),
        columns=evidence.whole(columns, "The columns of the table and what became of them"),
        folded=len(columns) > MOST_COLUMNS,
        left_out=columns[columns["used as"] == "left out"][["column", "note"]].to_numpy().tolist(),
        views=[_view(audit, attribute, number) for number, attribute in enumerate(sample.attributes, 1)],
        command="" if settings["table"] == writing.FRAME else writing.command(settings),
        versions={name: version(name) for name in PACKAGES},
    )


def _view(audit: "Audit", attribute: str, number: int) -> dict:
    """Everything that the page shows of one attribute."""
    view = View(audit, attribute)
    figures = {one.kind: one for one in audit.figures.values() if one.attribute == attribute}
    names = {wanted: name for name, wanted in writing.transformers(audit).items()}
    return {
        "name": attribute,
        "number": number,
        "k": view.k,
        "answers": view.answers,
        "answer": evidence.answers(view),
        "groups": evidence.whole(
            view.groups.drop(columns=["attribute", "dropped"], errors="ignore"), f"Groups of {attribute}"
        ),
        "left_out": view.found.left_out,
        "small": [one for one in view.groups["group"][view.groups["small"]] if one not in view.found.left_out],
        "losses": view.found.losses,
        "costs": [evidence.costs(view, name) for name in dict.fromkeys(view.recommended) if name != PCA],
        "pca": evidence.under_pca(view),
        "methods": evidence.side_by_side(view),
        "without": view.without,
        "decisions": None if audit.sample.target is None else evidence.decisions(view),
        "possible": None if view.frontier is None else evidence.bounds(view),
        "parts": evidence.both_parts(view),
        "use": [(name, names[name, view.k, attribute]) for name in view.recommended if name != PCA][:1],
        "figures": figures,
    }

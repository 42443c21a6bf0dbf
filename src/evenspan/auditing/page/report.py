"""The report of an audit: one page that a reader without statistics can begin and one with it can check.

What it says stands in ``report.html``; here are the numbers, tables and figures that it says it of.
"""

import importlib.metadata
from typing import TYPE_CHECKING

from .. import writing
from ..evaluation import METRICS
from ..fitting import PCA
from . import evidence
from .blocks import address, listed, page
from .evidence import View

if TYPE_CHECKING:
    from ..run import Audit

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
        version=importlib.metadata.version("evenspan"),
        attributes=listed(sample.attributes),
        columns=evidence.whole(columns, "The columns of the table and what became of them"),
        folded=len(columns) > MOST_COLUMNS,
        left_out=columns[columns["used as"] == "left out"][["column", "note"]].to_numpy().tolist(),
        views=[_view(audit, attribute, number) for number, attribute in enumerate(sample.attributes, 1)],
        metrics=METRICS,
        command="" if settings["table"] == writing.FRAME else writing.command(settings),
        call=writing.call(settings),
        made=writing.described(audit),
    )


def _view(audit: "Audit", attribute: str, number: int) -> dict:
    """Everything that the page shows of one attribute."""
    view = View(audit, attribute)
    figures = {}
    for name, one in audit._drawn[attribute].items():
        width, height = (round(96 * inches) for inches in one.figure.get_size_inches())
        figures[name] = {"caption": one.caption, "alt": one.alt, "address": address(one.svg)}
        figures[name] |= {"width": width, "height": height}
    names = {wanted: name for name, wanted in writing.transformers(audit).items()}
    return {
        "name": attribute,
        "number": number,
        "k": view.k,
        "answers": view.answers,
        "sentences": evidence.summary(view),
        "answer": evidence.answers(view),
        "groups": evidence.groups(view),
        "pca": evidence.under_pca(view),
        "methods": evidence.side_by_side(view),
        "without": view.without,
        "decisions": None if audit.sample.target is None else evidence.decisions(view),
        "possible": [] if view.frontier is None else [evidence.own_best(view), evidence.bounds(view)],
        "parts": evidence.both_parts(view),
        "limits": list(dict.fromkeys(text for one in view.answers.values() for text in one.limits)),
        "use": [(name, writing.use(names[name, view.k, attribute])) for name in view.recommended if name != PCA][:1],
        "figures": figures,
    }

"""Data cards: the numbers from the registry, the judgement from ``data/cards/NAME.md``."""

import re

from .. import paths
from .clustering import clusterings
from .moments import SHIPPED
from .registry import Entry, entry, names
from .tables import loadable

_ADDRESS = re.compile(r"https?://\S+")


def card(name: str) -> str:
    """The card of a data set as a MyST page: heading and prose of ``data/cards/NAME.md``, facts of the registry."""
    found = entry(name)
    heading, _, prose = paths.data("cards", f"{name}.md").read_text(encoding="utf-8").partition("\n")
    answer, why = may_use(found)
    return f"{heading}\n\n**May I use it?** {answer.capitalize()}: {why}.\n\n{fact_table(found)}\n\n{prose.strip()}\n"


def may_use(found: Entry) -> tuple[str, str]:
    """Yes, no or ask, and why: by the terms of the licence, without what stands in brackets or after a semicolon."""
    terms = re.split(r" \(|;", found.licence)[0]
    if terms == "unstated":
        return "ask", "no licence is stated"
    if terms.endswith(" only"):
        return "no", f"only as its licence says ({terms})"
    return "yes", f"under {terms}"


def card_index() -> str:
    """A markdown table of all data sets; each name links to its card ``NAME.md`` in the same folder."""
    rows = [
        {
            "data set": f"[{found.title}]({found.name}.md)",
            "rows": _number(found.rows),
            "features": _number(found.features),
            "groups": groups_in_words(found),
            "licence": found.licence,
            "may I use it": may_use(found)[0],
            "papers": ", ".join(found.papers) or "none",
            "loader": "yes" if found.name in {*loadable(), *clusterings()} else "no",
            "shipped": shipped_as(found),
        }
        for found in map(entry, names())
    ]
    lines = [list(rows[0]), ["---"] * len(rows[0]), *([_cell(text) for text in row.values()] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def fact_table(found: Entry) -> str:
    """What the registry says of a data set, as a markdown table."""
    size = f"{len(found.files)} file{'s' if len(found.files) != 1 else ''}, {found.bytes / 1e6:,.2f} MB"
    facts = {
        "Name": f"`{found.name}`",
        "Rows": _number(found.rows),
        "Features": _number(found.features),
        "Groups": groups_in_words(found),
        "Sensitive attribute": found.sensitive,
        "Fixed splits": str(found.splits) if found.splits else "none",
        "Used by": ", ".join(found.papers) or "no paper",
        "Same data as in the paper": "yes" if found.matches_paper else "no, or not known",
        "Preprocessing": found.preprocessing,
        "Notes": found.notes,
        "Licence": f"{found.licence} (as generally stated; not legally checked)",
        "Origin": _ADDRESS.sub(r"<\g<0>>", found.origin) if "://" in found.origin else f"`{found.origin}`",
        "Raw files": size if found.files else "none: installed together with scikit-learn",
        "Checksum of the set": f"`{found.checksum()}`",
        "Loader": _loader(found.name),
        "Shipped": shipped_as(found),
    }
    if found.measured:
        means = found.measured["label_mean"].items()
        facts["Duplicate rows"] = _number(found.measured["duplicate_rows"])
        facts["Rank of the centred features"] = f"{found.measured['rank']} of {found.features}"
        facts["Mean of the label"] = ", ".join(f"{found.group_names.get(g, g)}: {mean:.4f}" for g, mean in means)
    if found.attribution:
        facts["To be credited"] = found.attribution
    if found.unavailable:
        facts["Download"] = f"not possible: {found.unavailable}"
    rows = [f"| {key} | {_cell(value)} |" for key, value in facts.items()]
    return "\n".join(["| | |", "|---|---|", *rows])


def _loader(name: str) -> str:
    found = {"load": loadable(), "load_clustering": clusterings()}
    calls = [f'`compendium.data.{function}("{name}")`' for function, names in found.items() if name in names]
    return ", ".join(calls) or "none: fetch and verify only"


def shipped_as(found: Entry) -> str:
    """What of a data set is in the repository."""
    return "rows" if found.shipped else "group moments" if found.name in SHIPPED else "no"


def groups_in_words(found: Entry) -> str:
    """Groups with their counts: ``women (750), men (1,511)``."""
    counted = (f"{found.group_names.get(label, label)} ({_number(count)})" for label, count in found.groups.items())
    return ", ".join(counted) or "none"


def _number(value: int) -> str:
    return f"{value:,}"


def _cell(text: str) -> str:
    # a bar would end the cell, and a dollar would start a formula
    return text.replace("|", "\\|").replace("$", "\\$").replace("\n", " ")

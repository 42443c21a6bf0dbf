"""The report of an audit: one page that a reader without statistics can begin and one with it can check.

What it says, and in which order, stands in ``report.html``; the tables that it shows are those of ``evidence``.
"""

from base64 import b64encode
from importlib import resources
from importlib.metadata import version

from ...metrics.attackers import ATTACKERS, FITTED
from .. import writing
from ..clusters import ROWS
from . import evidence


def render(audit) -> str:
    """The report as one HTML page: no script, no address outside it; whatever came from the table is escaped."""
    import jinja2
    from markupsafe import Markup

    room = resources.files(__package__)
    options = {"undefined": jinja2.StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    template = room.joinpath("report.html").read_text(encoding="utf-8")
    page = jinja2.Environment(autoescape=True, **options).from_string(template).render(
        style=Markup(room.joinpath("report.css").read_text(encoding="utf-8")),
        audit=audit, sample=audit.sample, settings=audit.settings,
        views=[evidence.View(audit, attribute) for attribute in audit.sample.attributes],
        evidence=evidence, base64=b64encode, version=version("evenspan"),
        attackers=list(ATTACKERS), fitted=FITTED, clustered=ROWS,
        files={wanted: name for name, wanted in writing.transformers(audit).items()},
        versions={name: version(name) for name in ("numpy", "scipy", "pandas", "scikit-learn")},
    )  # fmt: skip
    return page + "\n"

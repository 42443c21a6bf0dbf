"""Sections with an address of their own, whatever their heading says.

A heading below the line ``{.at-biodeg-verdicts}`` is found under ``#biodeg-verdicts``: one page may have many sections
with the same heading. The pages of experiments use it (``compendium.book.experiment_page``), whose tabs are sections.
"""

from docutils import nodes
from sphinx.transforms import SphinxTransform

_AT = "at-"


class OwnAddresses(SphinxTransform):
    """Name a section after its class ``at-NAME``, before contents and index are made."""

    default_priority = 300

    def apply(self, **kwargs):
        for section in self.document.findall(nodes.section):
            for one in [one for one in section["classes"] if one.startswith(_AT)]:
                section["classes"].remove(one)
                name = one.removeprefix(_AT)
                labels = set(self.document.nameids.values()) - {name}
                section["ids"] = [name, *(old for old in section["ids"] if old in labels)]
                self.document.ids[name] = section


def setup(app):
    app.add_transform(OwnAddresses)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

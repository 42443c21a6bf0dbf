"""Keep punctuation with its formula: it is typeset as a box, and a line may otherwise break before its full stop."""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

_MARK = re.compile(r"[.,;:!?)\]’”]+(?=\s|$)|-(?=\w)\S{1,12}")


class KeepPunctuation(SphinxPostTransform):
    """Wrap an inline formula together with the punctuation that follows it."""

    default_priority = 800
    formats = ("html",)

    def run(self, **kwargs):
        for formula in list(self.document.findall(nodes.math)):
            parent, place = formula.parent, formula.parent.index(formula)
            after = parent[place + 1] if place + 1 < len(parent) else None
            mark = _MARK.match(after.astext()) if isinstance(after, nodes.Text) else None
            if mark is None:
                continue
            text = after.astext()
            parent.remove(after)
            parent.remove(formula)
            together = nodes.inline("", "", formula, nodes.Text(mark.group()), classes=["with-formula"])
            parent.insert(place, together)
            if rest := text[mark.end() :]:
                parent.insert(place + 1, nodes.Text(rest))


def setup(app):
    app.add_post_transform(KeepPunctuation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

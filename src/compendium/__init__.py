"""The reproduction of the papers: data sets, experiments, ledger, book. It needs the checkout; evenspan does not."""

import sys

# The validator of notebooks loads, where it finds one, a grammar of addresses. Compiling it takes 1.6 s, more than all
# else that a process imports, and no notebook here has such an address.
sys.modules.setdefault("rfc3987_syntax", None)

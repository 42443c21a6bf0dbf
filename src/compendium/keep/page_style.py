"""What a page of the book needs before it can be printed, beside the print rules of its own style sheet."""

# What only a screen needs, and what paper must show: the theme's own print rules leave some of it.
STYLE = """
.bd-header-article, .bd-sidebar-primary, .bd-sidebar-secondary, .prev-next-footer, .bd-footer, .headerlink,
.copybtn, .toggle-button, .skip-link, #pst-skip-link, .pst-scroll-pixel-helper, #pst-scroll-pixel-helper,
#jb-print-toc, .ledger-filters, button.btn__top, .search-button__overlay, dialog { display: none !important; }
* { animation: none !important; transition: none !important; content-visibility: visible !important; }
html, body, .bd-main, .bd-content { background: #fff !important; }
.bd-main .bd-content .bd-article-container { max-width: 100% !important; padding: 0 !important; overflow: visible; }
.cell_output, .output, pre, .table-wrapper, div.math, .pst-scrollable-table-container { overflow: visible !important; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; }
thead { display: table-header-group; }
tr, figure, .admonition-title { break-inside: avoid; }
/* The ledger's rows lie on a grid for the screen; on paper they are a table again, whose head every leaf repeats. */
table.ledger { display: table !important; table-layout: fixed; width: 100% !important; font-size: 0.6rem !important; }
table.ledger th:is(:nth-child(8), :nth-child(n + 12):nth-child(-n + 16)) { width: 4.5%; }
table.ledger th:is(:nth-child(4), :nth-child(17), :nth-child(18)) { width: 11%; }
table.ledger thead { display: table-header-group !important; position: static !important; }
table.ledger tbody { display: table-row-group !important; }
table.ledger tr { display: table-row !important; }
table.ledger :is(td, th) { display: table-cell !important; position: static !important; min-width: 0 !important; }
table.ledger :is(td, th) { white-space: normal !important; overflow-wrap: anywhere; }
table.ledger td:last-child > * + * { display: none; }
table.ledger tr { break-inside: auto !important; }
"""

# Everything open and loaded, in light colours; what is wider than the paper is made smaller until it fits.
READY = """async () => {
  document.documentElement.dataset.theme = 'light';
  document.documentElement.dataset.mode = 'light';
  for (const one of document.querySelectorAll('details')) one.open = true;
  for (const one of document.querySelectorAll('img[loading=lazy]')) one.loading = 'eager';
  await Promise.all([...document.images].map(one => one.decode().catch(() => null)));
  await document.fonts.ready;
  // A head that every leaf repeats holds words: Chromium repeats no buttons.
  for (const one of document.querySelectorAll('th button')) one.replaceWith(one.textContent);
  // Boxes that scroll on a screen show all that they hold.
  for (const one of document.querySelectorAll('article *')) {
    const style = getComputedStyle(one);
    if (/(auto|scroll)/.test(style.overflowX + style.overflowY) && one.scrollHeight > one.clientHeight + 1) {
      Object.assign(one.style, { overflow: 'visible', maxHeight: 'none', height: 'auto' });
    }
  }
  const room = document.querySelector('article')?.clientWidth ?? document.body.clientWidth;
  for (const one of document.querySelectorAll('article table, article mjx-container[display=true], article svg')) {
    const width = Math.max(one.scrollWidth ?? 0, one.getBoundingClientRect().width);
    const outer = Math.min(one.parentElement.clientWidth || room, room);
    if (width > outer + 1) one.style.zoom = Math.max(outer / width, 0.35);
  }
}"""

// Search, filters, sorting and a live count for the ledger's table. Without this script the whole table is there.
(() => {
  "use strict";
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  function start(table) {
    if (table.dataset.ledger === "ready") return;
    table.dataset.ledger = "ready";
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, order) => {
      const cells = [...row.cells].map((cell) => cell.textContent.trim().replaceAll("\u00a0", " "));
      const badge = row.querySelector(".verdict");
      return { row, order, cells, verdict: badge ? badge.textContent.trim() : "", text: cells.join(" ").toLowerCase() };
    });
    const value = (entry, column) => (heads[column].textContent === "Verdict" ? entry.verdict : entry.cells[column]);

    const bar = make("form", { class: "ledger-filters", role: "search", "aria-label": "Filter the ledger" });
    const search = make("input", { type: "search", id: "ledger-search", placeholder: "any word or number" });
    bar.append(make("label", { for: "ledger-search" }, "Search ", search));
    const selects = new Map();
    heads.forEach((head, column) => {
      if (!("choice" in head.dataset)) return;
      const select = make("select", { id: `ledger-${column}` }, make("option", { value: "" }, "all"));
      bar.append(make("label", { for: select.id }, `${head.textContent} `, select));
      selects.set(column, select);
    });
    const reset = make("button", { type: "reset" }, "Show all");
    const count = make("output", { role: "status", "aria-live": "polite" });
    bar.append(reset, count);

    // Every choice offers what the other choices leave, so that no combination is empty.
    function matches(entry, word, except) {
      if (word && !entry.text.includes(word)) return false;
      return [...selects].every(([column, select]) => {
        return column === except || !select.value || value(entry, column) === select.value;
      });
    }

    function refresh() {
      const word = search.value.trim().toLowerCase();
      for (const [column, select] of selects) {
        const found = new Set(rows.filter((entry) => matches(entry, word, column)).map((entry) => value(entry, column)));
        if (select.value) found.add(select.value);
        const options = [...found].sort(collator.compare).map((text) => make("option", { value: text }, text));
        const chosen = select.value;
        select.replaceChildren(make("option", { value: "" }, "all"), ...options);
        select.value = chosen;
      }
      let shown = 0;
      for (const entry of rows) {
        const hit = matches(entry, word, -1);
        entry.row.hidden = !hit;
        shown += hit;
      }
      count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    }

    function sort(column, direction) {
      const empty = (text) => text === "" || text === "–";
      const ordered = rows.slice().sort((a, b) => {
        const [x, y] = [value(a, column), value(b, column)];
        if (empty(x) || empty(y)) return empty(x) - empty(y) || a.order - b.order;
        const [p, q] = [parseFloat(x), parseFloat(y)];
        const difference = Number.isNaN(p) || Number.isNaN(q) ? collator.compare(x, y) : p - q;
        return direction * difference || a.order - b.order;
      });
      body.append(...ordered.map((entry) => entry.row));
    }

    heads.forEach((head, column) => {
      if (head.textContent === "Trail") return;
      const button = make("button", { type: "button", class: "ledger-sort" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        sort(column, up ? 1 : -1);
      });
    });
    bar.addEventListener("submit", (event) => event.preventDefault());
    bar.addEventListener("reset", () => setTimeout(refresh));
    bar.addEventListener("input", refresh);
    table.closest(".ledger-scroll").before(bar);
    refresh();
  }

  const run = () => document.querySelectorAll("table[data-ledger]").forEach(start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", run);
  else run();
})();

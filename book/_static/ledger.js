// The ledger's tables: filters that stay in the address, sorting, a live count, and the rows shown as a file.
// Without this script the whole tables are there, and every link leads to its row.
(() => {
  "use strict";
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const tables = [];

  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  function start(table) {
    if ("ready" in table.dataset) return;
    table.dataset.ready = "";
    const name = table.dataset.ledger;
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, order) => {
      const cells = [...row.cells].map((cell) => cell.textContent.trim().replaceAll("\u00a0", " "));
      const badge = row.querySelector(".verdict");
      if (badge) cells[0] = badge.textContent.trim(); // what stands beside the mark is not its name
      return { row, order, cells, text: cells.join(" ").toLowerCase() };
    });

    const bar = make("form", { class: "ledger-filters", role: "search", "aria-label": `Filter: ${name}` });
    const search = make("input", { type: "search", id: `${name}-search`, placeholder: "any word or number" });
    bar.append(make("label", { for: search.id }, "Search ", search));
    const selects = heads.flatMap((head, column) => {
      if (!head.dataset.choice) return [];
      const key = head.dataset.choice;
      const select = make("select", { id: `${name}-${key}` }, make("option", { value: "" }, "all"));
      bar.append(make("label", { for: select.id }, `${head.textContent} `, select));
      return [{ column, key, select }];
    });
    bar.append(make("button", { type: "reset" }, "Show all"));
    if (table.dataset.rows) {
      const button = make("button", { type: "button", class: "ledger-download" }, "Download these rows");
      button.addEventListener("click", () => download());
      bar.append(button);
    }
    const count = make("output", { role: "status", "aria-live": "polite" });
    bar.append(count);

    // Every choice offers what the other choices leave, so that no combination is empty.
    function matches(entry, word, except) {
      if (word && !entry.text.includes(word)) return false;
      return selects.every((one) => one === except || !one.select.value || entry.cells[one.column] === one.select.value);
    }

    function refresh() {
      const word = search.value.trim().toLowerCase();
      for (const one of selects) {
        const found = new Set(rows.filter((e) => matches(e, word, one)).map((e) => e.cells[one.column]));
        found.delete("");
        offer(one.select, one.select.value, found);
      }
      let shown = 0;
      for (const entry of rows) {
        const hit = matches(entry, word, null);
        if (entry.row.hidden === hit) entry.row.hidden = !hit;
        shown += hit;
      }
      count.textContent = `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    }

    function offer(select, chosen, found = new Set()) {
      if (chosen) found.add(chosen);
      const options = [...found].sort(collator.compare).map((text) => make("option", { value: text }, text));
      select.replaceChildren(make("option", { value: "" }, "all"), ...options);
      select.value = chosen;
    }

    function read(given) {
      search.value = given.get(table.dataset.search) || "";
      for (const one of selects) offer(one.select, given.get(one.key) || "");
      refresh();
    }

    function write(given) {
      const put = (key, value) => (value ? given.set(key, value) : given.delete(key));
      put(table.dataset.search, search.value.trim());
      for (const one of selects) put(one.key, one.select.value);
    }

    function sort(column, direction) {
      const empty = (text) => text === "" || text === "–";
      const number = (text) => ("size" in heads[column].dataset ? Math.abs(parseFloat(text)) : parseFloat(text));
      const ordered = rows.slice().sort((a, b) => {
        const [x, y] = [a.cells[column], b.cells[column]];
        if (empty(x) || empty(y)) return empty(x) - empty(y) || a.order - b.order;
        const [p, q] = [number(x), number(y)];
        const difference = Number.isNaN(p) || Number.isNaN(q) ? collator.compare(x, y) : p - q;
        return direction * difference || a.order - b.order;
      });
      body.append(...ordered.map((entry) => entry.row));
    }

    // The file holds the lines of the whole file, unchanged. It is a script, because a page opened without a server
    // may load no other kind of file; it is read when it is asked for.
    async function download() {
      if (!window.evenspanLedger) {
        const script = make("script", { src: table.dataset.rows });
        await new Promise((done, failed) => {
          script.addEventListener("load", done);
          script.addEventListener("error", () => failed(new Error(`${table.dataset.rows} was not found`)));
          document.head.append(script);
        });
      }
      const shown = [...body.rows].filter((row) => !row.hidden).map((row) => row.dataset.cell);
      const lines = shown.map((cell) => window.evenspanLedger.rows[cell]);
      const file = new Blob([window.evenspanLedger.head, ...lines], { type: "text/csv" });
      const link = make("a", { href: URL.createObjectURL(file), download: "ledger-rows.csv" });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }

    heads.forEach((head, column) => {
      if (head.textContent === "Trail" || head.textContent === "Where") return;
      const button = make("button", { type: "button", class: "ledger-sort" }, head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        sort(column, up ? 1 : -1);
      });
    });
    const changed = () => {
      refresh();
      remember();
    };
    bar.addEventListener("submit", (event) => event.preventDefault());
    bar.addEventListener("reset", () => setTimeout(changed));
    bar.addEventListener("input", changed);
    table.closest(".ledger-scroll").before(bar);
    const chosen = (row, keys) => selects.filter((one) => keys.has(one.key)).map((one) => [one.key, row.cells[one.column]]);
    const knows = (key, value) => selects.some((one) => one.key === key && rows.some((e) => e.cells[one.column] === value));
    tables.push({ read, write, knows, rows: new Map(rows.map((entry) => [entry.row.id, entry])), chosen });
  }

  function remember() {
    const given = new URLSearchParams();
    for (const table of tables) table.write(given);
    picture(given.get("paper"));
    const query = given.toString();
    history.replaceState(null, "", `${location.pathname}${query ? `?${query}` : ""}${location.hash}`);
  }

  // The pictures of the chosen paper, or of all.
  function picture(paper) {
    for (const one of document.querySelectorAll("#table-by-table > section")) one.hidden = Boolean(paper) && one.id !== paper;
  }

  function restore() {
    const given = new URLSearchParams(location.search);
    const named = decodeURIComponent(location.hash.slice(1)).replace(/^ledger-/, "");
    // The address of a paper chooses its numbers and claims.
    const keys = location.search ? [] : ["paper", "claim-paper"].filter((key) => tables.some((one) => one.knows(key, named)));
    for (const key of keys) given.set(key, named);
    for (const table of tables) table.read(given);
    picture(given.get("paper"));
    show();
  }

  // The row or section that the address names: brought into view, marked, and the place from which the keyboard goes on.
  function show() {
    document.querySelectorAll(".ledger-here").forEach((row) => row.classList.remove("ledger-here"));
    const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!place || place.hidden) return;
    const row = place.matches("tr");
    if (row) place.classList.add("ledger-here");
    place.tabIndex = -1;
    place.focus({ preventScroll: true });
    place.scrollIntoView({ block: row ? "center" : "start" });
  }

  // A field of a picture leads to its row among those of the same table, data set, method and number of components.
  function aim(link) {
    const entry = tables[0].rows.get(link.hash.slice(1));
    const keys = new Set(["paper", "table", "dataset", "method", "k"]);
    const filters = tables[0].chosen(entry, keys).filter(([, value]) => value);
    link.setAttribute("href", `?${new URLSearchParams(filters)}${link.hash}`);
  }

  function follow(event) {
    const link = event.target.closest("a[href^='?']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    history.pushState(null, "", `${location.pathname}${link.search}${link.hash}`);
    restore();
  }

  // What a field says, for those who do not wait for a tooltip or use the keyboard.
  function tell(readout, event) {
    const link = event.target.closest && event.target.closest(".ledger-grid a");
    readout.textContent = link && event.type !== "focusout" && event.type !== "pointerout" ? link.title : "";
  }

  function run() {
    const found = document.querySelectorAll("table[data-ledger]");
    if (!found.length || tables.length) return;
    found.forEach(start);
    document.querySelectorAll(".ledger-grid a").forEach(aim);
    const article = found[0].closest("article, main, body");
    const readout = make("p", { class: "ledger-readout", "aria-hidden": "true" });
    article.append(readout);
    for (const kind of ["pointerover", "pointerout", "focusin", "focusout"]) {
      article.addEventListener(kind, (event) => tell(readout, event));
    }
    article.addEventListener("click", follow);
    window.addEventListener("popstate", restore);
    restore();
    // Once everything has its height, and the browser has gone to the address by itself.
    window.addEventListener("load", () => requestAnimationFrame(() => requestAnimationFrame(show)));
  }

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", run);
  else run();
})();

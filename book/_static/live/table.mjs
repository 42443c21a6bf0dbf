// A table of the reader's own: chosen in the browser, audited on this machine, its report in the page.
import { ask, connection, element } from "./run.mjs";

const EVERY = 700; // milliseconds between two looks at an audit

export async function start({ bar, said, button, root }) {
  const server = connection(root);
  button.hidden = true;
  said.textContent = "Choose a table. It stays on this machine, and goes when the server stops.";
  const file = element("input", { type: "file", id: "live-file", accept: ".csv,.tsv,.gz,.xlsx,.parquet,.feather,.arrow" });
  const form = element("form", { class: "live-table", "aria-label": "Your table" });
  form.append(element("label", { for: file.id }, "Table"), file, element("small", {}, "CSV, TSV, Excel, Parquet or Feather"));
  bar.after(form);
  form.addEventListener("submit", (event) => event.preventDefault());
  file.addEventListener("change", async () => {
    form.querySelectorAll(".live-asked").forEach((one) => one.remove());
    if (!file.files.length) return;
    const [table] = file.files;
    said.textContent = `Reading ${table.name} …`;
    try {
      const found = await ask(server, `tables/${encodeURIComponent(table.name)}`, { method: "PUT", body: table });
      said.textContent = `${table.name}: ${found.columns.length} columns. Whose groups are to be compared?`;
      columns(form, found, server, said, root);
    } catch (error) {
      said.textContent = error.message;
    }
  });
  file.focus();
}

/** Which columns mean what, and the audit. */
function columns(form, { key, columns }, server, said, root) {
  const asked = { class: "live-asked" };
  const sensitive = element("fieldset", asked, element("legend", {}, "Columns whose groups are compared"));
  for (const column of columns) {
    const box = element("input", { type: "checkbox", name: "sensitive", value: column });
    sensitive.append(element("label", {}, box, ` ${column}`), " ");
  }
  const none = element("option", { value: "" }, "none");
  const target = element("select", { ...asked, id: "live-target" }, none, ...columns.map((one) => element("option", {}, one)));
  const k = element("input", { ...asked, id: "live-k", placeholder: "as many as are useful" });
  const go = element("button", { type: "button" }, "Audit");
  const stop = element("button", { type: "button" }, "Stop");
  stop.disabled = true;
  const report = element("p", asked);
  form.append(
    sensitive,
    element("label", { ...asked, for: target.id }, "To be predicted later"),
    target,
    element("small", asked),
    element("label", { ...asked, for: k.id }, "Numbers of components"),
    k,
    element("small", asked, "3, or 2,5, or 1..10"),
    element("p", asked, go, " ", stop),
    report,
  );
  go.addEventListener("click", async () => {
    const chosen = [...sensitive.querySelectorAll(":checked")].map((one) => one.value);
    go.disabled = true;
    form.querySelectorAll("iframe").forEach((one) => one.remove());
    try {
      const body = JSON.stringify({ table: key, sensitive: chosen, target: target.value, k: k.value });
      const audit = await ask(server, "audits", { method: "POST", body });
      stop.disabled = false;
      stop.onclick = () => ask(server, `audits/${audit}`, { method: "DELETE" });
      let state = { code: null, said: "" };
      while (state.code === null) {
        said.textContent = state.said.split("\n").at(-1) || "The audit begins …";
        await new Promise((resolve) => setTimeout(resolve, EVERY));
        state = await ask(server, `audits/${audit}`);
      }
      said.textContent = state.code === 0 ? "Done." : state.code < 0 ? "Stopped." : state.said;
      if (state.code === 0) {
        const address = new URL(`../live/reports/${audit}/report.html`, root).href;
        report.replaceChildren(element("a", { href: address, target: "_blank" }, "The report in a window of its own"));
        form.append(element("iframe", { ...asked, src: address, title: "Report on your table" }));
      }
    } catch (error) {
      said.textContent = error.message;
    } finally {
      go.disabled = false;
      stop.disabled = true;
    }
  });
}

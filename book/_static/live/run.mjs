// A page with a kernel behind it: cells that can be changed and run, their output in the place of the published one.
import { EditorView, KernelManager, Prec, ServerConnection, basicSetup, keymap, python } from "./client.mjs";
import { syntaxHighlighting, tagHighlighter, tags } from "./client.mjs";
import { rendered } from "./output.mjs";

const PATIENCE = 3000; // milliseconds without the server before it is said
const ENDED = ["dead", "autorestarting"]; // what the status of a kernel says when it ended
const SHOWN = ["Run page", "Stop", "Reset", "Download"];
// The classes by which the book colours its code.
const COLOURS = tagHighlighter([
  { tag: tags.comment, class: "c1" },
  { tag: tags.string, class: "s2" },
  { tag: tags.number, class: "mi" },
  { tag: tags.bool, class: "kc" },
  { tag: tags.null, class: "kc" },
  { tag: tags.keyword, class: "k" },
  { tag: tags.operator, class: "o" },
  { tag: tags.function(tags.definition(tags.variableName)), class: "nf" },
]);

/** An element with its class, attributes and children. */
export function element(tag, given = {}, ...children) {
  const one = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) one.setAttribute(name, value);
  one.append(...children);
  return one;
}

/** Ask our part of the server; an answer that is none raises its own words. */
export async function ask(server, path, init = {}) {
  const answer = await ServerConnection.makeRequest(`${server.baseUrl}live/${path}`, init, server);
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(found.message || `the server answers ${answer.status}`);
  return found;
}

export function connection(root) {
  const base = new URL("../", root);
  return ServerConnection.makeSettings({
    baseUrl: base.href,
    wsUrl: base.href.replace(/^http/, "ws"),
    appendToken: false,
  });
}

/** What is of a page, or of one of its experiments, and not of an experiment below it. */
function within(section, selector) {
  return [...section.querySelectorAll(selector)].filter((one) => (one.closest("section.experiment") || section) === section);
}

/** Start the page; resolves when its cells can be run. */
export async function start({ bar, said, button, root, name, section }) {
  const server = connection(root);
  const tab = within(section, ".tab").find((one) => one.offsetParent !== null);
  const before = section.matches(".experiment") ? `${section.id}-` : ""; // the names of its tabs begin with it
  const asked = new URLSearchParams({ name, execution: tab ? tab.id.slice(before.length) : "" });
  const page = await ask(server, `page?${asked}`);
  const manager = new KernelManager({ serverSettings: server });
  const live = new Page({ page, tab, bar, said, button, root, name, section, server, manager });
  await live.begin();
}

class Cell {
  constructor(number, published) {
    this.number = number;
    this.published = published;
    this.ran = null; // the source that was run last, in a kernel that still has what it left
    this.outputs = [];
  }
  get source() {
    return this.editor ? this.editor.state.doc.toString() : this.published;
  }
  set source(text) {
    this.editor.dispatch({ changes: { from: 0, to: this.editor.state.doc.length, insert: text } });
  }
}

class Page {
  constructor(given) {
    Object.assign(this, given);
    this.cells = [];
    this.undo = []; // what brings the published page back
    this.fail = () => {};
    this.page.notebook.cells.forEach((cell, number) => {
      if (cell.cell_type === "code") this.cells.push(new Cell(number, cell.source));
    });
  }

  async begin() {
    this.ready = this.connect();
    await this.ready;
    this.cells.forEach((cell) => this.place(cell));
    this.controls();
    if (this.page.parameters.length) this.panel();
    within(this.section, ".tag_cell-rest").forEach((one) => this.hide(one));
    addEventListener("pagehide", (this.left = () => this.kernel && this.drop(this.kernel, { keepalive: true })));
    addEventListener("hashchange", (this.moved = () => this.tab && this.tab.offsetParent === null && this.reset()));
    this.say("Ready. Change a cell and press Shift+Enter, or run the page.");
  }

  /** Get a kernel; another one if it ends. */
  async connect() {
    const kernel = await this.manager.startNew();
    await kernel.info;
    this.kernel = kernel;
    kernel.statusChanged.connect((_, status) => {
      if (this.kernel !== kernel || !ENDED.includes(status)) return;
      this.kernel = null;
      this.cells.forEach((cell) => (cell.ran = null));
      this.fail(new Error("The kernel ended, perhaps because memory ran out. Another one takes its place: run the page again."));
      this.ready = this.connect();
      this.ready.catch((error) => this.say(error.message));
      this.drop(kernel);
    });
    let gone = null;
    kernel.connectionStatusChanged.connect((_, status) => {
      clearTimeout(gone);
      if (status === "connected" || this.kernel !== kernel) return;
      gone = setTimeout(() => this.say("The server does not answer. Is make live still running?"), PATIENCE);
    });
  }

  /** End a kernel, and the line to it; also of a page that is being left. */
  async drop(kernel, init = {}) {
    const address = `${this.server.baseUrl}api/kernels/${kernel.id}`;
    kernel.dispose();
    await ServerConnection.makeRequest(address, { method: "DELETE", ...init }, this.server).catch(() => {});
  }

  // -- what is on the page ---------------------------------------------------------------------------------------

  /** Where the cell stands: its code in the text or, of a tab, folded above its output. */
  place(cell) {
    const tag = `.tag_cell-${cell.number}`;
    const shared = within(this.section, tag).find((one) => !one.closest(".tab"));
    cell.box = (this.tab && this.tab.querySelector(tag)) || shared;
    if (!cell.box) return; // runs, and shows nothing
    const code = (shared || cell.box).querySelector(".cell_input");
    const place = element("div", { class: "live-cell highlight" });
    if (code) {
      this.hide(code);
      code.after(place);
    } else {
      const folded = element("details", { class: "live-code" }, element("summary", {}, "Code"), place);
      cell.box.prepend(folded);
      this.undo.push(() => folded.remove());
    }
    cell.editor = new EditorView({
      doc: cell.published,
      parent: place,
      extensions: [
        Prec.highest(
          keymap.of([
            { key: "Shift-Enter", run: () => (this.run(cell), true) },
            { key: "Mod-Shift-Enter", run: () => (this.run(), true) },
          ]),
        ),
        basicSetup,
        python(),
        syntaxHighlighting(COLOURS),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": `Code of cell ${cell.number}` }),
        EditorView.updateListener.of((update) => update.docChanged && this.changed(cell)),
      ],
    });
    cell.frame = place;
    const run = element("button", { type: "button", class: "live-run", "aria-label": `Run cell ${cell.number}` }, "Run");
    run.addEventListener("click", () => this.run(cell));
    cell.mark = element("span", { class: "live-mark" });
    place.append(element("div", { class: "live-line" }, run, cell.mark));
    this.undo.push(() => {
      cell.editor.destroy();
      place.remove();
    });
  }

  hide(one) {
    one.hidden = true;
    this.undo.push(() => (one.hidden = false));
  }

  controls() {
    const acts = [() => this.run(), () => this.stop(), () => this.reset(), () => this.download()];
    this.buttons = SHOWN.map((text, place) => {
      const one = element("button", { type: "button" }, text);
      one.addEventListener("click", acts[place]);
      return one;
    });
    this.note = element("p", { class: "live-note" });
    this.button.hidden = true;
    this.bar.classList.add("live-on");
    this.button.after(...this.buttons);
    this.bar.append(this.note);
    this.busy(false);
    this.undo.push(() => {
      this.buttons.forEach((one) => one.remove());
      this.note.remove();
      this.bar.classList.remove("live-on");
      this.button.hidden = false;
    });
    this.buttons[0].focus({ preventScroll: true });
  }

  /** A field for each parameter. */
  panel() {
    const form = element("form", { class: "live-parameters", "aria-label": "Parameters" });
    for (const { name, value, choices, meaning } of this.page.parameters) {
      const id = `live-${name}`;
      let field;
      if (choices.length || typeof value === "boolean") {
        const values = choices.length ? choices : ["true", "false"];
        field = element("select", { id, name }, ...values.map((one) => element("option", {}, String(one))));
      } else {
        field = element("input", { id, name, autocomplete: "off", spellcheck: "false" });
        if (typeof value === "number") field.inputMode = "decimal";
      }
      field.value = String(value);
      const about = element("small", { id: `${id}-about` }, meaning);
      field.setAttribute("aria-describedby", about.id);
      form.append(element("label", { for: id }, element("code", {}, name)), field, about);
    }
    const trouble = element("p", { class: "live-trouble", role: "alert" });
    const cost = element("p", { class: "live-cost" }, this.page.cost);
    form.append(element("button", { type: "submit" }, "Run with these"), cost, trouble);
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      trouble.textContent = "";
      const values = Object.fromEntries(new FormData(form));
      try {
        const body = JSON.stringify({ name: this.name, values });
        const source = await ask(this.server, "page", { method: "POST", body });
        const first = this.cells.find(({ number }) => this.tagged(number, "parameters"));
        if (first.source !== source) first.source = source;
        await this.run();
      } catch (error) {
        trouble.textContent = error.message;
      }
    });
    const first = this.cells.find(({ number }) => this.tagged(number, "parameters"));
    (first && first.box ? first.box : this.bar).before(form);
    this.undo.push(() => form.remove());
  }

  tagged(number, tag) {
    return (this.page.notebook.cells[number].metadata.tags || []).includes(tag);
  }

  say(text) {
    this.said.textContent = text;
  }

  busy(now) {
    this.running = now;
    const [run, stop, , download] = this.buttons;
    run.disabled = now;
    download.disabled = now;
    stop.disabled = !now;
    within(this.section, ".live-run, .live-parameters button").forEach((one) => (one.disabled = now));
  }

  changed(cell) {
    if (cell.mark) cell.mark.textContent = cell.source === cell.published ? "" : "changed";
  }

  // -- what runs -------------------------------------------------------------------------------------------------

  /** Run a cell, or the page: before it whatever has not run as it stands now. */
  async run(last = null) {
    if (this.running) return;
    this.busy(true);
    const broken = new Promise((_, reject) => (this.fail = reject));
    broken.catch(() => {}); // heard below, where a cell is waited for
    this.broken = broken;
    const wanted = last ? this.cells.slice(0, this.cells.indexOf(last) + 1) : this.cells;
    let stale = false;
    const due = wanted.filter((cell) => (stale ||= cell.ran !== cell.source || cell === last));
    if (!due.length) due.push(...wanted);
    const began = performance.now();
    this.say("Waiting for the kernel …"); // what was said of the last run goes
    // What the page says above its cells is about the published run.
    const above = (this.tab || this.section).querySelectorAll(".takeaway, .parameters");
    [...above].filter((one) => !one.hidden).forEach((one) => this.hide(one));
    try {
      await this.ready;
      for (const [done, cell] of due.entries()) {
        this.say(`Running cell ${cell.number}, ${done + 1} of ${due.length} …`);
        if (!(await this.execute(cell))) return;
      }
      const after = this.cells.slice(wanted.length);
      after.forEach((cell) => (cell.ran = null));
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      const rest = after.length ? ` The ${after.length} cells below are as before: Run page runs them, too.` : "";
      await this.compare();
      this.say(`Done in ${seconds} s.${rest}`);
    } catch (error) {
      this.say(error.message);
    } finally {
      this.busy(false);
    }
  }

  /** Run one cell; whether it ended well. */
  async execute(cell) {
    const source = cell.source;
    cell.ran = null;
    cell.outputs = [];
    const place = this.fresh(cell);
    const future = this.kernel.requestExecute({ code: source, stop_on_error: true });
    let failed = null;
    future.onIOPub = ({ header, content }) => {
      const output = asOutput(header.msg_type, content);
      if (header.msg_type === "clear_output") cell.outputs.length = 0;
      if (!output) return;
      if (output.output_type === "error") failed = output;
      const before = cell.outputs.at(-1);
      if (output.output_type === "stream" && before && before.name === output.name) before.text += output.text;
      else cell.outputs.push(output);
      if (place) place.replaceChildren(...cell.outputs.map((one) => rendered(one, this.root, this.name)));
    };
    await Promise.race([future.done, this.broken]);
    if (place) {
      place.parentElement.hidden = !cell.outputs.length;
      place.dispatchEvent(new Event("shown", { bubbles: true }));
      if (window.MathJax && MathJax.typesetPromise) MathJax.typesetPromise([place]).catch(() => {});
    }
    if (failed) {
      this.say(`Cell ${cell.number} failed: ${failed.ename}: ${failed.evalue}`);
      const folded = cell.frame && cell.frame.closest("details");
      if (folded) folded.open = true;
      (place || this.bar).scrollIntoView({ block: "center" });
      return false;
    }
    cell.ran = source;
    return true;
  }

  /** An empty place for the output of a cell, marked as the reader's own, instead of the published one. */
  fresh(cell) {
    if (!cell.box) return null;
    if (!cell.own) {
      const place = element("div", { class: "live-output" });
      cell.own = element("section", { class: "live-own", "aria-label": `Your run of cell ${cell.number}` });
      cell.own.append(element("p", { class: "live-own-mark" }, "Your run"), place);
      cell.place = place;
      cell.box.append(cell.own);
      cell.box.querySelectorAll(":scope > .cell_output").forEach((one) => this.hide(one));
      this.undo.push(() => (cell.own.remove(), (cell.own = null)));
    }
    cell.own.hidden = false;
    cell.place.replaceChildren();
    return cell.place;
  }

  /** Say what was computed and what was read. */
  async compare() {
    const text = await this.quietly('print(study.note() if "study" in globals() else "")');
    this.note.textContent = text.trim();
  }

  async quietly(code) {
    let text = "";
    const future = this.kernel.requestExecute({ code, store_history: false });
    future.onIOPub = ({ header, content }) => {
      if (header.msg_type === "stream" && content.name === "stdout") text += content.text;
    };
    await Promise.race([future.done, this.broken]);
    return text;
  }

  async stop() {
    this.say("Stopping …");
    await this.kernel?.interrupt().catch((error) => this.say(`It cannot be stopped: ${error.message}`));
  }

  /** The published page, and no kernel. */
  async reset() {
    const said = "This is the published page again.";
    this.fail(new Error(said)); // of what is running
    await this.ready.catch(() => {}); // it may be getting another kernel
    removeEventListener("hashchange", this.moved);
    removeEventListener("pagehide", this.left);
    const { kernel } = this;
    this.kernel = null;
    this.undo.reverse().forEach((back) => back());
    this.say(said);
    this.button.focus({ preventScroll: true });
    if (kernel) await this.drop(kernel);
  }

  /** The notebook as it stands now. */
  download() {
    const notebook = structuredClone(this.page.notebook);
    for (const cell of this.cells) {
      notebook.cells[cell.number].source = cell.source;
      notebook.cells[cell.number].outputs = cell.outputs;
    }
    const blob = new Blob([JSON.stringify(notebook, null, 1)], { type: "application/x-ipynb+json" });
    const link = element("a", { href: URL.createObjectURL(blob), download: `${this.page.title.replaceAll("/", "-")}.ipynb` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}

/** A message of the kernel as an output of a notebook, or nothing. */
function asOutput(kind, content) {
  if (kind === "stream") return { output_type: kind, name: content.name, text: content.text };
  if (kind === "error") return { output_type: kind, ...content };
  if (kind === "display_data") return { output_type: kind, data: content.data, metadata: content.metadata };
  if (kind === "execute_result") {
    const { data, metadata, execution_count } = content;
    return { output_type: kind, data, metadata, execution_count };
  }
  return null;
}

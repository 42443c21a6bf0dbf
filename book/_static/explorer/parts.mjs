// The parts of the page round the drawing: controls, the certified result, the legend, the table and its file.
(() => {
  "use strict";
  const explorer = window.evenspanExplorer;
  const LINES = [
    ["set", "what projections can reach"],
    ["frontier", "certified frontier: no group gains without loss of the other"],
    ["equal", "equal errors"],
    ["losses", "equal losses"],
    ["level", "level lines of the criterion"],
    ["bound", "certificate: no projection lies beyond this line"],
    ["move", "the move from PCA to the optimum"],
  ];

  function make(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  /** A number for reading: as many digits as wanted, never 1.2e-7 of rounding. */
  function shown(value, digits = 4) {
    if (value === null || !Number.isFinite(value)) return "–";
    const text = Math.abs(value) < 5e-10 ? "0" : Math.abs(value) < 1e-4 ? value.toExponential(2) : value.toFixed(digits);
    return text.replace("-", "−");
  }

  function field(label, control, extra = []) {
    return make("div", { class: "explorer-field" }, make("label", { for: control.id }, label), control, ...extra);
  }

  function slider(id, { min, max, step }) {
    return make("input", { type: "range", id: `explorer-${id}`, name: id, min, max, step });
  }

  /** Fills the empty place; gives back the elements that change. */
  function build(root, data) {
    const select = (id) => make("select", { id: `explorer-${id}`, name: id });
    const [set, k, criterion] = ["data", "k", "criterion"].map(select);
    const penalty = slider("penalty", { min: 0, max: 5, step: 0.05 });
    const radius = slider("radius", { min: 0, max: 2, step: 0.01 });
    const told = [penalty, radius].map((input) => make("output", { for: input.id }));
    set.append(...data.sets.map((one) => make("option", { value: one.name }, one.title)));
    const choices = Object.entries(explorer.CRITERIA).map(([name, one]) => make("option", { value: name }, one.label));
    criterion.append(...choices);
    const views = ["frontier", "whole"].map((view) =>
      make("button", { type: "button", "data-view": view, "aria-pressed": "false" }, view === "whole" ? "Whole set" : "Frontier"),
    );
    const file = make("button", { type: "button", class: "explorer-file" }, "Download (CSV)");
    const form = make(
      "form",
      { class: "explorer-controls", "aria-label": "Choices" },
      field("Data set", set),
      field("Components k", k),
      field("Criterion", criterion),
      field("Penalty λ", penalty, [told[0]]),
      field("Radius α", radius, [told[1]]),
      make("div", { class: "explorer-buttons", role: "group", "aria-label": "View" }, ...views, file),
    );
    const picture = explorer.makeSvg("svg", { role: "img", class: "explorer-picture", "aria-label": "Attainable pairs of errors" });
    const points = explorer.makeSvg("svg", { role: "group", class: "explorer-points", "aria-label": "Points of the methods" });
    const readout = make("p", { class: "explorer-readout", "aria-hidden": "true" });
    const plot = make("div", { class: "explorer-plot" }, picture, points);
    const summary = make("p", { class: "explorer-summary", role: "status", "aria-live": "polite" });
    const result = make("dl", { class: "explorer-result" });
    const table = make("table", { class: "explorer-numbers" });
    const scroll = make("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "All numbers" }, table);
    const numbers = make("details", { class: "explorer-table" }, make("summary", {}, "All numbers as a table"), scroll);
    const side = make("div", { class: "explorer-side" }, summary, result);
    const main = make("div", { class: "explorer-main" }, make("div", {}, plot, readout), side);
    root.append(form, main, legend(), legend(data.methods), numbers);
    return { form, set, k, criterion, penalty, radius, told, views, file, plot, picture, points, readout, summary, result, table };
  }

  /** What the lines mean, or the marks of the methods. */
  function legend(methods) {
    const sample = (kind) => {
      const svg = explorer.makeSvg("svg", { viewBox: "0 0 30 14", "aria-hidden": "true", class: "explorer-sample" });
      const d = kind === "set" ? "M2 2H28V12H2Z" : "M1 7H29";
      svg.append(explorer.makeSvg(kind === "move" ? "g" : "path", kind === "move" ? { class: "move" } : { class: kind, d }));
      if (kind === "move") svg.lastChild.append(explorer.makeSvg("path", { d: "M1 7H22" }), explorer.makeSvg("path", { class: "head", d: "M29 7L21 3L21 11Z" }));
      return svg;
    };
    const marked = (shape) => {
      const svg = explorer.makeSvg("svg", { viewBox: "-15 -15 30 30", "aria-hidden": "true", class: "explorer-sample mark" });
      svg.append(shape);
      return svg;
    };
    const list = make("ul", { class: "explorer-legend", "aria-label": methods ? "Methods" : "Lines" });
    if (!methods) {
      list.append(make("li", {}, marked(explorer.star()), "optimum of the criterion"));
      for (const [kind, text] of LINES) list.append(make("li", {}, sample(kind), text));
    }
    for (const look of methods || []) {
      const extra = look.oblique ? " (no projection)" : "";
      list.append(make("li", {}, marked(explorer.mark(look)), make("a", { href: look.page }, look.name), extra));
    }
    return list;
  }

  /** The result with its certificate, as pairs of a term and its text. */
  function tell(list, rows) {
    list.replaceChildren(...rows.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]));
  }

  const HEAD = ["point", "error", "error", "average", "gap", "worst error", "worst loss", "criterion", "above optimum"];

  /** Every number of a point that the criteria look at. */
  function measured(scene, q) {
    const loss = Math.max(q[0] - scene.own[0], q[1] - scene.own[1]);
    const average = scene.shares[0] * q[0] + scene.shares[1] * q[1];
    return [q[0], q[1], average, Math.abs(q[0] - q[1]), Math.max(...q), loss, scene.f.value(q)];
  }

  function table(element, scene) {
    const heads = HEAD.map((text, i) => (i === 1 || i === 2 ? `error, ${scene.labels[i - 1]}` : text));
    const row = (name, q) => {
      const values = measured(scene, q);
      const above = values[6] - scene.optimum.dual;
      const cells = [...values, above].map((x) => make("td", {}, shown(x)));
      return make("tr", {}, make("th", { scope: "row" }, name), ...cells);
    };
    const missing = ({ name, reason }) =>
      make("tr", {}, make("th", { scope: "row" }, name), make("td", { colspan: HEAD.length - 1, class: "reason" }, `no answer: ${reason}`));
    const rows = scene.points.map((point) => (point.q ? row(point.name, point.q) : missing(point)));
    element.replaceChildren(
      make("caption", {}, `${scene.title}, k = ${scene.k}; ${scene.short}`),
      make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, row("optimum", scene.optimum.q), ...rows),
    );
  }

  /** All numbers with all digits: points, frontier and boundary, one a line. */
  function csv(scene) {
    const head = "kind,name,error_0,error_1,average,gap,worst_error,worst_loss,criterion";
    const line = (kind, name, q) => [kind, name, ...measured(scene, q)].join(",");
    const points = scene.points.filter((point) => point.q).map((point) => line("method", point.name, point.q));
    return [
      head,
      line("optimum", scene.criterion, scene.optimum.q),
      ...points,
      ...scene.frontier.map((q) => line("frontier", "", q)),
      ...scene.polygon.map((q) => line("boundary", "", q)),
      "",
    ].join("\n");
  }

  function download(text, name) {
    const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  Object.assign(explorer, { build, shown, tell, table, csv, download, make });
})();

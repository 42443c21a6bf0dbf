// The explorer of the joint range. Boundaries and points of methods are computed by compendium/book/explorer.py; here
// they are drawn, and the optimum of a criterion is the best of these points.
(() => {
  "use strict";
  const DEFAULT = { data: "biodeg", k: "3", criterion: "error", penalty: "1", radius: "0.1", view: "frontier" };
  const SPACE = { left: 54, right: 14, top: 10, bottom: 48 };
  const LINES = {
    set: "what projections can reach",
    frontier: "frontier: no group gains without loss of the other",
    equal: "equal errors",
    losses: "equal losses",
    level: "level lines of the criterion",
    move: "from PCA to the optimum",
  };

  const mean = (q, { shares }) => shares[0] * q[0] + shares[1] * q[1];
  const gap = (q) => Math.abs(q[0] - q[1]);
  const loss = (q, { own }) => Math.max(q[0] - own[0], q[1] - own[1]);

  /** Worst case of average error plus penalty times gap over balls of these radii about the groups. */
  function robust(q, { shares, counts, penalty, radius }) {
    const part = (v, g) => v * Math.max(Math.sqrt(q[g]) + Math.sign(v) * Math.sqrt(radius / Math.sqrt(counts[g])), 0) ** 2;
    const branch = (sign) => part(shares[0] + sign * penalty, 0) + part(shares[1] - sign * penalty, 1);
    return Math.max(branch(1), branch(-1));
  }

  const CRITERIA = {
    average: { label: "Smallest average error (PCA)", short: "average error", value: mean },
    error: { label: "Smallest worst error (min-max error)", short: "larger of the two errors", value: (q) => Math.max(...q) },
    loss: { label: "Smallest worst loss (min-max loss)", short: "larger of the two losses", value: loss },
    penalty: {
      label: "Average error plus penalty on the gap",
      short: "average error plus penalty times the gap",
      uses: ["penalty"],
      value: (q, given) => mean(q, given) + given.penalty * gap(q),
    },
    gap: { label: "Smallest gap, then smallest average (u-FPCA)", short: "gap between the errors", value: gap },
    robust: {
      label: "Robust objective with penalty and radius",
      short: "worst-case average error plus penalty times the gap",
      uses: ["penalty", "radius"],
      value: robust,
    },
  };

  /** What follows from a choice: everything that is shown. */
  function sceneOf(set, state) {
    const { counts } = set;
    const polygon = set.boundary[state.k];
    const points = set.points[state.k].map(([name, x, y, reason]) => ({ name, q: reason ? null : [x, y], reason }));
    const own = [0, 1].map((g) => Math.min(...polygon.map((q) => q[g])));
    const at = own.map((least, g) => polygon.findIndex((q) => q[g] === least));
    const shares = counts.map((n) => n / (counts[0] + counts[1]));
    const given = { counts, shares, own, penalty: Number(state.penalty), radius: Number(state.radius) };
    const value = (q) => CRITERIA[state.criterion].value(q, given);
    const projections = points.filter((point) => point.q && point.name !== "LEACE");
    // The set is convex: it holds the chords of its boundary.
    const chord = (p, q) => Array.from({ length: 20 }, (_, i) => [0, 1].map((g) => p[g] + (i / 20) * (q[g] - p[g])));
    const chords = polygon.flatMap((p, i) => chord(p, polygon[(i + 1) % polygon.length]));
    const reached = [...chords, ...projections.map((point) => point.q)];
    const least = Math.min(...reached.map(value));
    const best = reached.filter((q) => value(q) <= least + 1e-7 * (own[0] + own[1]));
    const optimum = best.reduce((p, q) => (mean(q, given) < mean(p, given) ? q : p));
    const gaps = polygon.map((q) => q[0] - q[1]);
    return {
      set, state, given, points, polygon, own, value, optimum, short: CRITERIA[state.criterion].short,
      frontier: polygon.slice(at[0], at[1] + 1), gaps: [Math.min(...gaps), Math.max(...gaps)],
      start: points.find((point) => point.name === "PCA").q,
    };
  }

  function fill(element, attributes, children) {
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }
  const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
  const draw = (name, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

  const shown = (value, digits = 4) => (Math.abs(value) < 5e-8 ? "0" : value.toFixed(digits)).replace("-", "−");

  function mark(look) {
    if (look) return draw("path", { d: look.path, transform: "scale(11)", stroke: look.colour, "stroke-width": 0.2 });
    return draw("g", { class: "target" }, draw("circle", { r: 9 }), draw("path", { d: "M-14 0H-4M4 0H14M0 -14V-4M0 4V14" }));
  }

  /** Fills the empty place; gives back the elements that change. */
  function build(root, data) {
    const field = (name, text, kind, attributes, ...children) =>
      make("div", { class: "explorer-field" }, make("label", { for: `explorer-${name}` }, text),
        make(kind, { id: `explorer-${name}`, name, ...attributes }, ...children),
        ...(kind === "input" ? [make("output", { for: `explorer-${name}` })] : []));
    const slider = { type: "range", min: 0 };
    const button = (text, attributes) => make("button", { type: "button", ...attributes }, text);
    const options = (pairs) => pairs.map(([value, text]) => make("option", { value }, text));
    const form = make("form", { class: "explorer-controls", "aria-label": "Choices" },
      field("data", "Data set", "select", {}, ...options(data.sets.map((set) => [set.name, set.title]))),
      field("k", "Components k", "select", {}),
      field("criterion", "Criterion", "select", {}, ...options(Object.entries(CRITERIA).map(([name, one]) => [name, one.label]))),
      field("penalty", "Penalty λ", "input", { ...slider, max: 5, step: 0.05 }),
      field("radius", "Radius α", "input", { ...slider, max: 2, step: 0.01 }),
      make("div", { class: "explorer-buttons", role: "group", "aria-label": "View" },
        button("Frontier", { "data-view": "frontier" }), button("Whole set", { "data-view": "whole" })));
    const at = {
      form,
      picture: draw("svg", { role: "img", class: "explorer-picture" }),
      points: draw("svg", { role: "group", class: "explorer-points", "aria-label": "Points of the methods" }),
      readout: make("p", { class: "explorer-readout", "aria-hidden": "true" }),
      summary: make("p", { class: "explorer-summary", role: "status", "aria-live": "polite" }),
      result: make("dl", { class: "explorer-result" }),
      table: make("table", { class: "explorer-numbers" }),
    };
    at.plot = make("div", { class: "explorer-plot" }, at.picture, at.points);
    const sample = (shape, box) => draw("svg", { viewBox: box, "aria-hidden": "true", class: "explorer-sample" }, shape);
    const marked = (look) => sample(mark(look), "-15 -15 30 30");
    const swatch = (kind) => sample(draw("path", { class: kind, d: kind === "set" ? "M2 2H28V12H2Z" : "M1 7H29" }), "0 0 30 14");
    const lines = Object.entries(LINES).map(([kind, text]) => make("li", {}, swatch(kind), text));
    lines.unshift(make("li", {}, marked(), "optimum of the criterion"));
    const looks = data.methods.map((look) =>
      make("li", {}, marked(look), make("a", { href: look.page }, look.name), look.name === "LEACE" ? " (no projection)" : ""));
    root.append(
      form,
      make("div", { class: "explorer-main" },
        make("div", {}, at.plot, at.readout), make("div", { class: "explorer-side" }, at.summary, at.result)),
      make("ul", { class: "explorer-legend", "aria-label": "Lines" }, ...lines),
      make("ul", { class: "explorer-legend", "aria-label": "Methods" }, ...looks),
      make("details", { class: "explorer-table" }, make("summary", {}, "All numbers as a table"),
        make("div", { class: "table-scroll", tabindex: "0", role: "region", "aria-label": "All numbers" }, at.table)));
    return at;
  }

  /** A square window round points, with room at its sides, and the scales from errors to places in it. */
  function scales(points, room, size) {
    const [low, high] = [Math.min, Math.max].map((end) => [0, 1].map((g) => end(...points.map((q) => q[g]))));
    const span = Math.max(high[0] - low[0], high[1] - low[1], 1e-9) * (1 + 2 * room);
    const corner = [0, 1].map((g) => (low[g] + high[g] - span) / 2);
    const inner = [size - SPACE.left - SPACE.right, size - SPACE.top - SPACE.bottom];
    return {
      size, span, inner, corner,
      x: (q) => SPACE.left + ((q - corner[0]) / span) * inner[0],
      y: (q) => SPACE.top + inner[1] - ((q - corner[1]) / span) * inner[1],
      inside: (q) => [0, 1].every((g) => q[g] >= corner[g] && q[g] <= corner[g] + span),
    };
  }

  function axes(to, names) {
    const layer = draw("g", { class: "axes" });
    const rough = to.span / 5;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((x) => x * power).find((x) => x >= rough);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const [foot, right] = [SPACE.top + to.inner[1], to.size - SPACE.right];
    for (const g of [0, 1]) {
      for (let i = Math.ceil(to.corner[g] / step); i * step <= to.corner[g] + to.span; i++) {
        const text = (i * step).toFixed(digits).replace("-", "−");
        const [x, y] = [to.x(i * step), to.y(i * step)];
        layer.append(draw("path", { class: "grid", d: g ? `M${SPACE.left} ${y}H${right}` : `M${x} ${SPACE.top}V${foot}` }));
        const place = g ? { x: SPACE.left - 7, y: y + 4, "text-anchor": "end" } : { x, y: foot + 17, "text-anchor": "middle" };
        layer.append(draw("text", place, text));
      }
    }
    const most = Math.floor(to.inner[0] / 7.2) - 9;
    const name = (g) => `error of ${names[g].length > most ? `${names[g].slice(0, most - 1)}…` : names[g]}`;
    const style = { class: "name", "text-anchor": "middle" };
    const places = [`${SPACE.left + to.inner[0] / 2} ${to.size - 8}`, `14 ${SPACE.top + to.inner[1] / 2}) rotate(-90`];
    places.forEach((place, g) => layer.append(draw("text", { ...style, transform: `translate(${place})` }, name(g))));
    return layer;
  }

  /** A level line: a point on each parallel of the diagonal, along which every criterion but the gap grows. */
  function level({ value, own }, wanted, { corner, span }) {
    const gaps = Array.from({ length: 97 }, (_, i) => corner[0] - corner[1] + span * (i / 48 - 1));
    const line = [];
    for (const apart of [...gaps, 0, own[0] - own[1]].sort((a, b) => a - b)) {
      const at = (t) => [t + Math.max(apart, 0), t + Math.max(-apart, 0)];
      let [low, high] = [0, corner[0] + corner[1] + 4 * span];
      if (value(at(low)) > wanted || value(at(high)) < wanted) continue;
      for (let round = 0; round < 40; round++) {
        const middle = 0.5 * (low + high);
        if (value(at(middle)) > wanted) high = middle;
        else low = middle;
      }
      line.push(at(low));
    }
    return line;
  }

  function picture(svg, to, scene) {
    const { corner, span } = to;
    const path = (points) => points.map((q, i) => `${i ? "L" : "M"}${to.x(q[0]).toFixed(2)} ${to.y(q[1]).toFixed(2)}`).join("");
    const line = (kind, points) => draw("path", { class: kind, d: path(points) });
    const end = corner[0] + corner[1] + 2 * span;
    const apart = (gap) => [[Math.min(0, gap) - end, Math.min(0, gap) - end - gap], [end + gap, end]];
    const least = scene.value(scene.optimum);
    const ofGap = scene.state.criterion === "gap";
    const room = (ofGap ? span : scene.value([corner[0] + span, corner[1] + span]) - least) / 7;
    const values = Array.from({ length: 7 }, (_, i) => least + i * room);
    const levels = values.flatMap((value) => (ofGap ? [apart(value), apart(-value)] : [level(scene, value, to)]));
    const clip = draw("clipPath", { id: "explorer-clip" },
      draw("rect", { x: SPACE.left, y: SPACE.top, width: to.inner[0], height: to.inner[1] }));
    svg.setAttribute("viewBox", `0 0 ${to.size} ${to.size}`);
    const lines = [
      line("set", [...scene.polygon, scene.polygon[0]]),
      ...levels.map((points) => line("level", points)),
      line("equal", apart(0)),
      line("losses", apart(scene.own[0] - scene.own[1])),
      line("frontier", scene.frontier),
      line("move", [scene.start, scene.optimum]),
    ];
    svg.replaceChildren(clip, axes(to, scene.set.groups), draw("g", { "clip-path": "url(#explorer-clip)" }, ...lines));
  }

  const named = (scene, q) => scene.set.groups.map((name, g) => `${name}: ${shown(q[g])}`).join("; ");
  const measured = (scene, q) => [...q, mean(q, scene.given), gap(q), Math.max(...q), loss(q, scene.given), scene.value(q)];

  function sentence(scene) {
    const [least, most] = scene.gaps;
    const apart = Math.max(least, -most);
    const equal = apart > 0 ? `Equal errors are impossible: the gap is at least ${shown(apart)}.` : "Equal errors are possible.";
    const found = `Optimum for the ${scene.short}: ${named(scene, scene.optimum)}.`;
    const value = `Its value is ${shown(scene.value(scene.optimum))}.`;
    return `${scene.set.title}, k = ${scene.state.k}. ${found} ${value} ${equal}`;
  }

  function results(scene) {
    const rows = {
      Optimum: named(scene, scene.optimum),
      "Value reached": shown(scene.value(scene.optimum), 6),
      "Average error there": shown(mean(scene.optimum, scene.given), 6),
      "Gap of any projection": `from ${shown(scene.gaps[0])} to ${shown(scene.gaps[1])} (first less second)`,
      Rows: scene.set.groups.map((name, g) => `${name}: ${scene.set.counts[g].toLocaleString("en")}`).join("; "),
    };
    return Object.entries(rows).flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]);
  }

  function table(scene) {
    const errors = scene.set.groups.map((name) => `error, ${name}`);
    const heads = ["point", ...errors, "average", "gap", "worst error", "worst loss", "criterion"];
    const none = (reason) => make("td", { colspan: 7, class: "reason" }, `no answer: ${reason}`);
    const cells = ({ q, reason }) => (q ? measured(scene, q).map((x) => make("td", {}, shown(x))) : [none(reason)]);
    const row = (point) => make("tr", {}, make("th", { scope: "row" }, point.name), ...cells(point));
    return [
      make("caption", {}, `${scene.set.title}, k = ${scene.state.k}; ${scene.short}`),
      make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col" }, text)))),
      make("tbody", {}, ...[{ name: "optimum", q: scene.optimum }, ...scene.points].map(row)),
    ];
  }

  function start(root) {
    const data = JSON.parse(document.getElementById("explorer-json").textContent);
    const looks = new Map(data.methods.map((look) => [look.name, look]));
    const at = build(root, data);
    const [state, fields] = [{ ...DEFAULT }, at.form.elements];
    let [scene, speaking] = [null, 0];

    /** The choice of the address; a value that is not among the choices is replaced, which is said. */
    function read() {
      const given = Object.fromEntries(new URLSearchParams(location.search));
      Object.keys(DEFAULT).forEach((key) => (state[key] = given[key] ?? DEFAULT[key]));
      show();
      const other = Object.keys(DEFAULT).filter((key) => key in given && given[key] !== state[key]);
      return other.map((key) => `The address asks for ${key} = ${given[key]}, which is not among the choices. `).join("");
    }

    /** Fields as the state has them, and the state as the fields allow. */
    function show() {
      const set = data.sets.find((one) => one.name === state.data) || data.sets.find((one) => one.name === DEFAULT.data);
      const sizes = Object.keys(set.boundary);
      fields.k.replaceChildren(...sizes.map((k) => make("option", { value: k }, k)));
      state.data = set.name;
      if (!sizes.includes(state.k)) state.k = Number(state.k) > sizes.length ? sizes[sizes.length - 1] : DEFAULT.k;
      if (!Object.hasOwn(CRITERIA, state.criterion)) state.criterion = DEFAULT.criterion;
      if (state.view !== "whole") state.view = DEFAULT.view;
      for (const name of ["penalty", "radius"]) {
        if (!(Number(state[name]) >= 0 && Number(state[name]) <= Number(fields[name].max))) state[name] = DEFAULT[name];
        fields[name].disabled = !(CRITERIA[state.criterion].uses || []).includes(name);
        fields[name].nextSibling.textContent = fields[name].disabled ? "unused" : Number(state[name]).toFixed(2);
      }
      for (const name of ["data", "k", "criterion", "penalty", "radius"]) fields[name].value = state[name];
      for (const one of root.querySelectorAll("[data-view]")) one.setAttribute("aria-pressed", one.dataset.view === state.view);
      scene = sceneOf(set, { ...state });
    }

    function plot() {
      const size = Math.round(Math.min(Math.max(at.plot.clientWidth, 260), 640));
      const whole = state.view === "whole";
      const to = scales(whole ? scene.polygon : [...scene.frontier, scene.optimum], whole ? 0.04 : 0.25, size);
      picture(at.picture, to, scene);
      at.points.setAttribute("viewBox", `0 0 ${size} ${size}`);
      const all = [...scene.points, { name: "optimum", q: scene.optimum }].filter((point) => point.q && to.inside(point.q));
      const near = (p, q) => Math.hypot(q[0] - p[0], q[1] - p[1]) < 1e-5 * to.span;
      at.points.replaceChildren(...all.map((point) => {
        const others = all.filter((other) => other !== point && near(point.q, other.q)).map((other) => other.name);
        const also = others.length ? ` Also here: ${others.join(", ")}.` : "";
        const text = `${point.name}. ${named(scene, point.q)}; ${scene.short} ${shown(scene.value(point.q))}.${also}`;
        const place = `translate(${to.x(point.q[0])} ${to.y(point.q[1])})`;
        return draw("g", { class: "explorer-point", tabindex: "0", role: "img", transform: place, "aria-label": text },
          draw("circle", { class: "ring", r: 15 }), mark(looks.get(point.name)));
      }));
    }

    function tell(note = "") {
      plot();
      at.result.replaceChildren(...results(scene));
      at.table.replaceChildren(...table(scene));
      const view = state.view === "whole" ? "The whole set" : "The frontier, closer";
      at.picture.setAttribute("aria-label", `${sentence(scene)} ${view}. PCA: ${named(scene, scene.start)}.`);
      clearTimeout(speaking);
      // Not at every step of a slider: nobody could listen to the end of a sentence.
      speaking = setTimeout(() => (at.summary.textContent = note + sentence(scene)), at.summary.textContent ? 350 : 0);
      root.dataset.state = "ready";
    }

    function choose(name, value) {
      state[name] = value;
      show();
      tell();
      const given = new URLSearchParams(Object.entries(state).filter(([key, value]) => value !== DEFAULT[key])).toString();
      history.replaceState(null, "", `${location.pathname}${given ? `?${given}` : ""}${location.hash}`);
    }

    at.form.addEventListener("input", (event) => choose(event.target.name, event.target.value));
    at.form.addEventListener("click", ({ target }) => {
      if (target.dataset.view) choose("view", target.dataset.view);
    });
    for (const kind of ["pointerover", "pointerout", "focusin", "focusout"]) {
      at.plot.addEventListener(kind, (event) => {
        const point = event.target.closest(".explorer-point");
        at.readout.textContent = point && !kind.endsWith("out") ? point.getAttribute("aria-label") : "";
      });
    }
    // Links of the page to a choice, such as those of the guided questions.
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-choice]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      history.pushState(null, "", `${location.pathname}${link.search}`);
      tell(read());
      root.scrollIntoView({ block: "start" });
      fields.data.focus({ preventScroll: true });
    });
    window.addEventListener("popstate", () => tell(read()));
    new ResizeObserver(plot).observe(at.plot);
    tell(read());
  }

  start(document.querySelector("[data-explorer]"));
})();

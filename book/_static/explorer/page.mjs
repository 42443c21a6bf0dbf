// The explorer: what is chosen, kept in the address; what follows from it, computed in slices so that nothing freezes.
(() => {
  "use strict";
  const explorer = window.evenspanExplorer;
  const { CRITERIA, shown, make } = explorer;
  const DEFAULT = { data: "biodeg", k: "3", criterion: "error", penalty: "1", radius: "0.1", view: "frontier" };
  const SLICE = 10; // milliseconds of work between two breaths

  function start(root) {
    const data = JSON.parse(document.getElementById("explorer-moments").textContent);
    const sets = new Map(data.sets.map((one) => [one.name, one]));
    const looks = new Map(data.methods.map((look) => [look.name, look]));
    const at = explorer.build(root, data);
    const ranges = new Map(); // joint ranges that were computed, by data set and k
    const marks = new Map(); // what stands in the upper layer, by name
    const state = { ...DEFAULT };
    let [job, scene, drawn, notes, speaking, writing] = [0, null, "", [], 0, 0];

    // --- what is chosen -------------------------------------------------------------------------------------------
    function read() {
      const given = new URLSearchParams(location.search);
      notes = [];
      Object.assign(state, DEFAULT);
      for (const key of Object.keys(DEFAULT)) {
        const wanted = given.get(key);
        if (wanted === null) continue;
        if (allowed(key, wanted)) state[key] = wanted;
        else notes.push(`The address asks for ${key} = ${wanted}, which is not among the choices; shown is ${state[key]}.`);
      }
      fit();
      show();
    }

    function allowed(key, value) {
      if (key === "data") return sets.has(value);
      if (key === "criterion") return Object.hasOwn(CRITERIA, value);
      if (key === "view") return value === "frontier" || value === "whole";
      const [number, input] = [Number(value), { penalty: at.penalty, radius: at.radius }[key]];
      if (value.trim() === "" || !Number.isFinite(number)) return false;
      return input ? number >= input.min && number <= input.max : Number.isInteger(number) && number >= 1 && number <= 10;
    }

    function fit() {
      const most = sets.get(state.data).most;
      if (Number(state.k) <= most) return;
      notes.push(`${sets.get(state.data).title} has at most ${most} components here; k was ${state.k}.`);
      state.k = String(most);
    }

    function show() {
      const { most } = sets.get(state.data);
      at.set.value = state.data;
      at.k.replaceChildren(...Array.from({ length: most }, (_, i) => make("option", { value: i + 1 }, String(i + 1))));
      at.k.value = state.k;
      at.criterion.value = state.criterion;
      [at.penalty, at.radius].forEach((input, i) => {
        input.value = state[input.name];
        input.disabled = !CRITERIA[state.criterion][input.name];
        at.told[i].textContent = input.disabled ? "unused" : Number(state[input.name]).toFixed(2);
      });
      at.views.forEach((button) => button.setAttribute("aria-pressed", String(button.dataset.view === state.view)));
    }

    function remember() {
      clearTimeout(writing);
      // Browsers refuse more than some changes a second, and a slider makes many.
      writing = setTimeout(() => {
        const given = new URLSearchParams();
        for (const [key, value] of Object.entries(state)) if (value !== DEFAULT[key]) given.set(key, value);
        const query = given.toString();
        history.replaceState(null, "", `${location.pathname}${query ? `?${query}` : ""}${location.hash}`);
      }, 200);
    }

    function changed(event) {
      notes = [];
      state[event.target.name] = event.target.value;
      fit();
      show();
      remember();
      compute();
    }

    // --- what follows ---------------------------------------------------------------------------------------------
    function compute() {
      const mine = ++job;
      const steps = found();
      root.dataset.state = "busy";
      root.setAttribute("aria-busy", "true");
      const slice = () => {
        if (mine !== job) return;
        const until = performance.now() + SLICE;
        let step;
        do step = steps.next();
        while (!step.done && performance.now() < until);
        if (step.done) finish(step.value);
        else setTimeout(slice);
      };
      slice();
    }

    function* found() {
      const set = sets.get(state.data);
      const k = Number(state.k);
      const key = `${set.name} ${k}`;
      if (!ranges.has(key)) {
        const matrices = set.matrices.map((lower) => explorer.full(lower, set.d));
        const joint = new explorer.JointRange(...matrices, set.d, k);
        yield* joint.drawn();
        ranges.set(key, { joint, base: [...joint.known], polygon: joint.boundary(), frontier: joint.frontier() });
      }
      const { joint, base, polygon, frontier } = ranges.get(key);
      joint.known = new Map(base); // directions of earlier choices would only slow the search down
      const total = set.counts[0] + set.counts[1];
      const shares = set.counts.map((n) => n / total);
      const own = joint.own();
      const choice = CRITERIA[state.criterion];
      const given = { shares, counts: set.counts, own, penalty: Number(state.penalty), radius: Number(state.radius) };
      const f = choice.make(given);
      const optimum = yield* explorer.optimum(f, joint);
      const points = set.points[k].map(([name, q0, q1, reason]) => ({ name, q: reason ? null : [q0, q1], reason }));
      const labels = set.groups.map((text, g) => (text === set.labels[g] ? `group ${text}` : text));
      return {
        f, optimum, points, own, shares, labels, polygon, frontier, k, set, given,
        criterion: state.criterion, short: choice.short, title: set.title, gaps: joint.extremeGaps(),
        support: joint.support(optimum.angle), start: points.find((p) => p.name === "PCA").q,
      };
    }

    function finish(result) {
      scene = result;
      draw();
      explorer.table(at.table, scene);
      explorer.tell(at.result, certificate(scene));
      const text = [...notes, summary(scene)].join(" ");
      at.picture.setAttribute("aria-label", `${summary(scene)} ${spread(scene)}`);
      clearTimeout(speaking);
      // Not at every step of a slider: a reader would never finish a sentence.
      speaking = setTimeout(() => (at.summary.textContent = text), at.summary.textContent ? 350 : 0);
      root.dataset.state = "ready";
      root.setAttribute("aria-busy", "false");
    }

    // --- what is seen ---------------------------------------------------------------------------------------------
    function draw() {
      const size = Math.round(Math.min(Math.max(at.plot.clientWidth, 260), 640));
      const near = [...scene.frontier, scene.optimum.q];
      const frame = state.view === "whole" ? explorer.square(scene.polygon, 0.04) : explorer.square(near, 0.25);
      const to = explorer.scales(frame, size);
      const top = scene.f.value(frame.high);
      const room = (scene.f.lexicographic ? frame.span : top - scene.optimum.primal) / 7;
      scene.levels = Array.from({ length: 7 }, (_, i) => scene.optimum.primal + i * room);
      explorer.picture(at.picture, to, scene, scene.labels);
      at.points.setAttribute("viewBox", `0 0 ${size} ${size}`);
      // The optimum glides to its new place if only the criterion changed; whether at all is the reader's choice.
      const place = `${scene.set.name} ${scene.k} ${state.view} ${size}`;
      root.classList.toggle("explorer-gliding", place === drawn);
      drawn = place;
      const all = [...scene.points, { name: "optimum", q: scene.optimum.q }];
      for (const point of all) put(point, to, all);
    }

    function put(point, to, all) {
      if (!marks.has(point.name)) {
        const look = looks.get(point.name);
        const mark = explorer.makeSvg("g", { class: look ? "explorer-point" : "explorer-point explorer-optimum", tabindex: "0", role: "img" });
        mark.append(explorer.makeSvg("circle", { class: "ring", r: 15 }), look ? explorer.mark(look) : explorer.star());
        marks.set(point.name, mark);
        at.points.append(mark);
      }
      const mark = marks.get(point.name);
      const visible = point.q !== null && to.inside(point.q);
      mark.style.display = visible ? "" : "none";
      if (!visible) return;
      mark.style.transform = `translate(${to.x(point.q[0])}px, ${to.y(point.q[1])}px)`;
      const near = (q) => Math.hypot(q[0] - point.q[0], q[1] - point.q[1]) < 1e-6 * to.frame.span;
      const others = all.filter((other) => other !== point && other.q && near(other.q)).map((other) => other.name);
      const also = others.length ? ` Also here: ${others.join(", ")}.` : "";
      const value = `${scene.short} ${shown(scene.f.value(point.q))}`;
      mark.setAttribute("aria-label", `${point.name}. ${named(point.q)}; ${value}.${also}`);
    }

    const named = (q) => scene.labels.map((label, g) => `${label}: ${shown(q[g])}`).join("; ");

    function summary({ title, k, optimum, short, gaps, criterion }) {
      const [least, most] = gaps;
      const gap = least > 0 ? least : most < 0 ? -most : 0;
      const equal = gap ? `Equal errors are impossible: the gap is at least ${shown(gap)}.` : "Equal errors are possible.";
      const bound = criterion === "gap" && !gap ? "" : `; no projection is below ${shown(optimum.dual)}`;
      const reached = `Its value is ${shown(optimum.primal)}${bound}.`;
      return `${title}, k = ${k}. Optimum for the ${short}: ${named(optimum.q)}. ${reached} ${equal}`;
    }

    function spread({ points, polygon }) {
      const of = (axis) => polygon.map((q) => q[axis]);
      const side = (axis) => `${scene.labels[axis]} from ${shown(Math.min(...of(axis)))} to ${shown(Math.max(...of(axis)))}`;
      const pca = points.find((point) => point.name === "PCA");
      const view = state.view === "whole" ? "The whole set" : "The frontier, closer";
      return `${view}. Attainable errors: ${side(0)}; ${side(1)}. PCA: ${named(pca.q)}.`;
    }

    function certificate({ optimum, gaps, given, set, criterion, labels, points }) {
      const [size, apart] = [Math.abs(optimum.primal), optimum.primal - optimum.dual];
      const rows = [
        ["Optimum", named(optimum.q)],
        ["Value reached", shown(optimum.primal, 9)],
        ["No projection below", shown(optimum.dual, 9)],
        ["Distance of the two", apart ? `${(apart / size).toExponential(1)} of the value` : "none"],
      ];
      if (criterion === "gap") {
        const bound = optimum.meanBound === null ? "" : `; with this gap none below ${shown(optimum.meanBound, 9)}`;
        rows.push(["Average error there", `${shown(optimum.mean, 9)}${bound}`]);
      }
      if (CRITERIA[criterion].radius) {
        const radii = given.counts.map((n, g) => `${labels[g]}: ${(given.radius / Math.sqrt(n)).toPrecision(4)}`);
        rows.push(["Radius of each group, α / √n", radii.join("; ")]);
      }
      rows.push(
        ["Gap of any projection", `from ${shown(gaps[0])} to ${shown(gaps[1])} (first less second)`],
        ["Rows", labels.map((label, g) => `${label}: ${set.counts[g].toLocaleString("en")}`).join("; ")],
        ["Solved for this", `${optimum.evaluations} further eigenvalue problems of order ${set.d}`],
      );
      const without = points.filter((point) => !point.q).map((point) => point.name);
      if (without.length) rows.push(["Without answer", `${without.join(", ")}; the table says why`]);
      return rows;
    }

    // --- events ---------------------------------------------------------------------------------------------------
    at.form.addEventListener("submit", (event) => event.preventDefault());
    at.form.addEventListener("input", changed);
    at.views.forEach((button) =>
      button.addEventListener("click", () => {
        state.view = button.dataset.view;
        show();
        remember();
        if (scene) finish(scene);
      }),
    );
    at.file.addEventListener("click", () => {
      if (scene) explorer.download(explorer.csv(scene), `joint-range-${scene.set.name}-k${scene.k}-${scene.criterion}.csv`);
    });
    const tell = (event) => {
      const mark = event.target.closest(".explorer-point");
      const leaving = event.type === "focusout" || event.type === "pointerout";
      const held = document.activeElement.closest && document.activeElement.closest(".explorer-point");
      at.readout.textContent = mark && !leaving ? mark.getAttribute("aria-label") : held && held !== mark ? held.getAttribute("aria-label") : "";
    };
    // Not on the drawing itself: one that listens for the focus could have it, and has nothing to say.
    for (const kind of ["pointerover", "pointerout", "focusin", "focusout"]) at.plot.addEventListener(kind, tell);
    // Links of the page to a choice, such as those of the guided questions.
    document.addEventListener("click", (event) => {
      const link = event.target.closest("a[data-choice]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
      event.preventDefault();
      history.pushState(null, "", `${location.pathname}${link.search}`);
      read();
      compute();
      root.scrollIntoView({ block: "start" });
      at.set.focus({ preventScroll: true });
    });
    window.addEventListener("popstate", () => {
      read();
      compute();
    });
    new ResizeObserver(() => scene && draw()).observe(at.plot);
    read();
    compute();
  }

  const root = document.querySelector("[data-explorer]");
  if (root) start(root);
})();

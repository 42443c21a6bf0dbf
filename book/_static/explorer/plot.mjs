// The drawing: two layers of SVG of the same size. The lower one is a picture with one text alternative; the upper one
// holds the points, each of which can be reached with the keyboard and says its numbers.
(() => {
  "use strict";
  const SPACE = { left: 54, right: 14, top: 10, bottom: 48 };
  const SVG = "http://www.w3.org/2000/svg";

  function make(name, attributes = {}, ...children) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  }

  /** Round numbers between two values, about as many as wanted. */
  function ticks(low, high, wanted) {
    const rough = (high - low) / wanted;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((x) => x * power).find((x) => x >= rough);
    const found = [];
    for (let i = Math.ceil(low / step); i * step <= high; i++) found.push(i * step);
    return { step, values: found };
  }

  /** A square window round points, with room at its sides. */
  function square(points, room) {
    const [low, high] = [Math.min, Math.max].map((end) => [0, 1].map((axis) => end(...points.map((p) => p[axis]))));
    const span = Math.max(high[0] - low[0], high[1] - low[1], 1e-9 * Math.max(...high.map(Math.abs))) * (1 + 2 * room);
    const middle = [0, 1].map((axis) => (low[axis] + high[axis]) / 2);
    return { low: middle.map((x) => x - span / 2), high: middle.map((x) => x + span / 2), span };
  }

  /** Scales from errors to places in the drawing; up is more. */
  function scales(frame, size) {
    const inner = [size - SPACE.left - SPACE.right, size - SPACE.top - SPACE.bottom];
    return {
      size,
      frame,
      inner,
      x: (q) => SPACE.left + ((q - frame.low[0]) / frame.span) * inner[0],
      y: (q) => SPACE.top + inner[1] - ((q - frame.low[1]) / frame.span) * inner[1],
      inside: (q) => [0, 1].every((axis) => q[axis] >= frame.low[axis] && q[axis] <= frame.high[axis]),
    };
  }

  const path = (to, points, closed) =>
    points.map((p, i) => `${i ? "L" : "M"}${to.x(p[0]).toFixed(2)} ${to.y(p[1]).toFixed(2)}`).join("") + (closed ? "Z" : "");

  /** A straight line a x + b y = c across the frame, as two points. */
  function across(frame, a, b, c) {
    const found = [];
    for (const axis of [0, 1]) {
      const [own, other] = axis ? [b, a] : [a, b];
      if (Math.abs(other) < 1e-12) continue;
      for (const edge of [frame.low[axis], frame.high[axis]]) {
        const at = (c - own * edge) / other;
        const point = axis ? [at, edge] : [edge, at];
        if (at >= frame.low[1 - axis] - 1e-9 * frame.span && at <= frame.high[1 - axis] + 1e-9 * frame.span) found.push(point);
      }
    }
    found.sort((p, q) => p[0] - q[0] || p[1] - q[1]);
    return found.length < 2 ? [] : [found[0], found[found.length - 1]];
  }

  /** A level line: on each parallel of the diagonal the criterion grows, so that there is one point at most. */
  function level(f, value, frame) {
    if (f.lexicographic) return [across(frame, 1, -1, value), across(frame, 1, -1, -value)];
    const gaps = Array.from({ length: 97 }, (_, i) => frame.low[0] - frame.high[1] + (2 * frame.span * i) / 96);
    gaps.push(f.kink);
    gaps.sort((a, b) => a - b);
    const line = [];
    for (const gap of gaps) {
      const at = (t) => (gap > 0 ? [t + gap, t] : [t, t - gap]); // t is the smaller of the two errors
      let [low, high] = [0, Math.max(...frame.high.map(Math.abs)) + 2 * frame.span];
      if (f.value(at(low)) > value || f.value(at(high)) < value) continue;
      for (let round = 0; round < 48; round++) {
        const middle = 0.5 * (low + high);
        if (f.value(at(middle)) > value) high = middle;
        else low = middle;
      }
      line.push(at(low));
    }
    return [line];
  }

  function axes(to, names) {
    const layer = make("g", { class: "axes" });
    const { frame, size, inner } = to;
    const foot = SPACE.top + inner[1];
    for (const axis of [0, 1]) {
      const { step, values } = ticks(frame.low[axis], frame.high[axis], size < 420 ? 4 : 6);
      const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
      for (const value of values) {
        const text = value.toFixed(digits).replace("-", "−");
        if (axis) {
          const y = to.y(value);
          layer.append(make("path", { class: "grid", d: `M${SPACE.left} ${y}H${size - SPACE.right}` }));
          layer.append(make("text", { x: SPACE.left - 7, y: y + 4, "text-anchor": "end" }, text));
        } else {
          const x = to.x(value);
          layer.append(make("path", { class: "grid", d: `M${x} ${SPACE.top}V${foot}` }));
          layer.append(make("text", { x, y: foot + 17, "text-anchor": "middle" }, text));
        }
      }
    }
    const most = Math.floor(inner[0] / 7.2) - 9;
    const short = (text) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
    const middle = [SPACE.left + inner[0] / 2, SPACE.top + inner[1] / 2];
    layer.append(
      make("text", { class: "name", x: middle[0], y: size - 8, "text-anchor": "middle" }, `error of ${short(names[0])}`),
      make("text", { class: "name", transform: `translate(14 ${middle[1]}) rotate(-90)`, "text-anchor": "middle" }, `error of ${short(names[1])}`),
    );
    return layer;
  }

  /** The lower layer. */
  function picture(svg, to, scene, labels) {
    const { frame, size } = to;
    const line = (kind, points, closed) => make("path", { class: kind, d: points.length > 1 ? path(to, points, closed) : "" });
    const clip = make("clipPath", { id: "explorer-clip" });
    clip.append(make("rect", { x: SPACE.left, y: SPACE.top, width: to.inner[0], height: to.inner[1] }));
    const inside = make("g", { "clip-path": "url(#explorer-clip)" });
    inside.append(line("set", scene.polygon, true));
    for (const value of scene.levels) inside.append(...level(scene.f, value, frame).map((points) => line("level", points)));
    inside.append(
      line("equal", across(frame, 1, -1, 0)),
      line("losses", across(frame, 1, -1, scene.own[0] - scene.own[1])),
      line("frontier", scene.frontier),
      line("bound", across(frame, Math.cos(scene.support.angle), Math.sin(scene.support.angle), scene.support.value)),
    );
    if (scene.start) inside.append(arrow(to, scene.start, scene.optimum.q));
    svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
    svg.replaceChildren(make("defs", {}, clip), axes(to, labels), inside);
  }

  function arrow(to, from, end) {
    const [x0, y0, x1, y1] = [to.x(from[0]), to.y(from[1]), to.x(end[0]), to.y(end[1])];
    const length = Math.hypot(x1 - x0, y1 - y0);
    const layer = make("g", { class: "move" });
    if (length < 24) return layer;
    const [dx, dy] = [(x1 - x0) / length, (y1 - y0) / length];
    const tip = [x1 - 11 * dx, y1 - 11 * dy];
    const wing = (side) => `${tip[0] - 8 * dx - side * 4 * dy} ${tip[1] - 8 * dy + side * 4 * dx}`;
    layer.append(
      make("path", { d: `M${x0 + 9 * dx} ${y0 + 9 * dy}L${tip[0]} ${tip[1]}` }),
      make("path", { class: "head", d: `M${tip[0]} ${tip[1]}L${wing(1)}L${wing(-1)}Z` }),
    );
    return layer;
  }

  /** A method's marker as everywhere in the book, hollow, so that equal answers show one inside the other. */
  function mark(look) {
    const size = 5 + 0.9 * look.size;
    const shape = { d: look.path, transform: `scale(${size})`, fill: "none", stroke: look.colour, "stroke-width": 2 / size };
    return make("path", { ...shape, "stroke-linejoin": "round" });
  }

  function star() {
    const layer = make("g", { class: "target" });
    layer.append(make("circle", { r: 9 }), make("path", { d: "M-14 0H-4M4 0H14M0 -14V-4M0 4V14" }));
    return layer;
  }

  Object.assign(window.evenspanExplorer, { square, scales, picture, level, mark, star, makeSvg: make });
})();

// The certified optimum of a criterion on the joint range, as in src/evenspan/reconstruction/robust_exact.py: the part
// of the boundary that can hold it is enclosed in triangles between supporting lines, and the triangle with the lowest
// bound is cut again until bound and best value meet. Functions with a star hand over after each eigenvalue problem.
(() => {
  "use strict";
  const explorer = window.evenspanExplorer;
  const ARC = [-Math.PI / 2, Math.PI];
  const NARROW = 1e-9;

  const between = (a, b, t) => [a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])];

  /** A zero of a function of one variable between places of different sign: secants, halved where they stall. */
  function* zero(of, low, high, atLow, atHigh, width) {
    let [a, b, fa, fb] = [low, high, atLow, atHigh];
    for (let round = 0, side = 0; round < 200 && Math.abs(b - a) > width && fa !== 0 && fb !== 0; round++) {
      let x = (a * fb - b * fa) / (fb - fa);
      // Every third step halves; and never nearer to an end than rounding can tell.
      if (round % 3 === 2 || !(x > Math.min(a, b) && x < Math.max(a, b))) x = 0.5 * (a + b);
      if (x === a || x === b) break;
      const fx = yield* of(x);
      if (fx === 0) return x;
      if (fx > 0 === fa > 0) {
        [a, fa] = [x, fx];
        if (side === -1) fb *= 0.5;
        side = -1;
      } else {
        [b, fb] = [x, fx];
        if (side === 1) fa *= 0.5;
        side = 1;
      }
    }
    return fa === 0 ? a : fb === 0 ? b : 0.5 * (a + b);
  }

  function finish(steps) {
    let step = steps.next();
    while (!step.done) step = steps.next();
    return step.value;
  }

  /** Where between two points the branches are equal; they differ in sign at the ends. */
  function crossing(f, a, b) {
    const at = function* (t) {
      return f.balance(between(a, b, t));
    };
    return finish(zero(at, 0, 1, f.balance(a), f.balance(b), 1e-15));
  }

  /** A lower bound on the straight piece from a to b: concave branches are smallest at its ends or where they cross. */
  function edgeBound(f, a, b) {
    const [[a0, a1], [b0, b1]] = [f.branches(a), f.branches(b)];
    const ends = Math.min(Math.max(a0, a1), Math.max(b0, b1));
    if ((a0 - a1) * (b0 - b1) >= 0) return ends;
    const t = crossing(f, a, b);
    if ((b[0] - a[0]) * (b[1] - a[1]) <= 0) return Math.min(ends, f.value(between(a, b, t)));
    const near = between(a, b, Math.max(t - 1e-11, 0));
    const far = between(a, b, Math.min(t + 1e-11, 1));
    if (f.balance(near) * (a0 - a1) < 0 || f.balance(far) * (b0 - b1) < 0) {
      return Math.max(Math.min(a0, b0), Math.min(a1, b1));
    }
    const [n, m] = [f.branches(near), f.branches(far)];
    return Math.min(ends, Math.max(Math.min(n[0], m[0]), Math.min(n[1], m[1])));
  }

  /** The part of a polygon in which no error is negative: no projection is elsewhere. */
  function clipped(polygon) {
    for (const axis of [0, 1]) {
      const inside = [];
      polygon.forEach((p, i) => {
        const q = polygon[(i + 1) % polygon.length];
        if (p[axis] >= 0) inside.push(p);
        if (p[axis] >= 0 !== q[axis] >= 0) {
          const x = between(p, q, p[axis] / (p[axis] - q[axis]));
          x[axis] = 0;
          inside.push(x);
        }
      });
      polygon = inside;
    }
    return polygon;
  }

  /** Where the supporting lines of two directions meet. */
  function corner(left, right) {
    const turn = Math.sin(right.angle - left.angle);
    return [
      (left.value * Math.sin(right.angle) - right.value * Math.sin(left.angle)) / turn,
      (right.value * Math.cos(left.angle) - left.value * Math.cos(right.angle)) / turn,
    ];
  }

  /** A lower bound on the boundary between two directions: on the triangle that encloses it. */
  function pieceBound(f, left, right) {
    const [a, b] = [left.ends[1], right.ends[0]].map((end) => end.map((x) => Math.max(x, 0)));
    const width = right.angle - left.angle;
    if (width < 10 * NARROW) {
      const steepness = Math.hypot(...f.gradient(a)) + Math.hypot(...f.gradient(b));
      return edgeBound(f, a, b) - steepness * Math.hypot(b[0] - a[0], b[1] - a[1]) * width;
    }
    const triangle = clipped([a, corner(left, right), b]);
    return Math.min(...triangle.map((one, i) => edgeBound(f, one, triangle[(i + 1) % triangle.length])));
  }

  class Search {
    constructor(f, joint) {
      Object.assign(this, { f, joint, best: { value: Infinity }, floor: Infinity, pieces: [] });
    }

    visit(found) {
      const [a, b] = found.ends;
      const tried = [a];
      if (a[0] !== b[0] || a[1] !== b[1]) {
        tried.push(b);
        if (this.f.balance(a) * this.f.balance(b) < 0) tried.push(between(a, b, crossing(this.f, a, b)));
        this.floor = Math.min(this.floor, edgeBound(this.f, a, b));
      }
      for (const q of tried) {
        const value = this.f.value(q);
        if (value < this.best.value) this.best = { value, q, angle: found.angle };
      }
    }

    push(left, right) {
      this.pieces.push({ bound: pieceBound(this.f, left, right), left, right });
    }

    take() {
      let lowest = 0;
      this.pieces.forEach((piece, i) => {
        if (piece.bound < this.pieces[lowest].bound) lowest = i;
      });
      return this.pieces.splice(lowest, 1)[0];
    }

    *cut(left, right) {
      const { f, joint } = this;
      const [low, high, a, b] = [left.angle, right.angle, left.ends[1], right.ends[0]];
      const inside = [];
      const solve = function* (angle) {
        const found = joint.support(angle);
        inside.push(found);
        yield;
        return found;
      };
      const balance = function* (angle) {
        const found = yield* solve(angle);
        const [first, last] = found.ends.map(f.balance);
        return first * last < 0 ? 0 : first;
      };
      if (f.balance(a) * f.balance(b) < 0) {
        yield* zero(balance, low, high, f.balance(a), f.balance(b), 1e-3 * NARROW);
      }
      if (!inside.length) yield* solve(this.direction(low, high, a, b));
      const row = [left, ...inside.filter((s) => s.angle > low && s.angle < high), right];
      row.sort((one, other) => one.angle - other.angle);
      row.slice(1, -1).forEach((found) => this.visit(found));
      for (let i = 1; i < row.length; i++) if (row[i].angle > row[i - 1].angle) this.push(row[i - 1], row[i]);
    }

    direction(low, high, a, b) {
      const gradient = this.f.gradient(this.f.value(a) <= this.f.value(b) ? a : b);
      for (const angle of [Math.atan2(gradient[1], gradient[0]), Math.atan2(b[0] - a[0], a[1] - b[1])]) {
        if (angle > low + 0.02 * (high - low) && angle < high - 0.02 * (high - low)) return angle;
      }
      return 0.5 * (low + high);
    }
  }

  /** Best point, its value, the bound below which no projection is, and the direction of the line that proves it. */
  function* optimum(f, joint, { rtol = 1e-10, most = 400 } = {}) {
    if (f.lexicographic) return yield* smallestGap(f, joint);
    const search = new Search(f, joint);
    const before = joint.evaluations;
    for (let i = 0; i < 7; i++) yield joint.support(ARC[0] + ((ARC[1] - ARC[0]) * i) / 6);
    const supports = [...joint.known.values()].filter((s) => s.angle >= ARC[0] && s.angle <= ARC[1]);
    supports.sort((one, other) => one.angle - other.angle);
    supports.forEach((found) => search.visit(found));
    for (let i = 1; i < supports.length; i++) search.push(supports[i - 1], supports[i]);
    const rounding = 4 * 2 ** -52 * (joint.traces[0] + joint.traces[1]);
    while (search.pieces.length) {
      const piece = search.take();
      const near = rtol * Math.abs(search.best.value) + rounding;
      if (search.best.value - piece.bound <= near || joint.evaluations - before >= most) {
        search.pieces.push(piece);
        break;
      }
      if (piece.right.angle - piece.left.angle < NARROW) {
        // Too narrow to be cut: between lies a straight piece whose tie was just not noticed.
        const wide = Math.max(explorer.TIE, 10 * (piece.right.angle - piece.left.angle));
        search.visit(joint.support(0.5 * (piece.left.angle + piece.right.angle), wide));
        search.floor = Math.min(search.floor, piece.bound);
      } else yield* search.cut(piece.left, piece.right);
    }
    const { q, angle, value } = search.best;
    const bound = Math.min(value, search.floor, ...search.pieces.map((piece) => piece.bound));
    return { q, angle, primal: value, dual: bound, evaluations: joint.evaluations - before };
  }

  /** The smallest difference of the errors; among projections that have it, the smallest average, also certified. */
  function* smallestGap(f, joint) {
    const before = joint.evaluations;
    const [low, high] = [-Math.PI / 4, (3 * Math.PI) / 4];
    const difference = (q) => q[0] - q[1];
    const [least, most] = joint.extremeGaps();
    yield;
    const at = (angle, q, primal, dual) => ({
      q, angle, primal, dual, mean: f.mean(q), evaluations: joint.evaluations - before,
    });
    if (least > 0 || most < 0) {
      const angle = least > 0 ? low : high;
      const found = joint.support(angle);
      const q = f.mean(found.ends[0]) <= f.mean(found.ends[1]) ? found.ends[0] : found.ends[1];
      const dual = least > 0 ? least : -most;
      return { ...at(angle, q, Math.max(f.value(q), dual), dual), meanBound: null };
    }
    // The frontier between the two extremes crosses the diagonal: find the direction in which it does.
    const known = [...joint.known.values()].filter((s) => s.angle >= low && s.angle <= high);
    known.sort((one, other) => one.angle - other.angle);
    const after = known.findIndex((s) => difference(s.ends[1]) >= 0);
    let [left, right] = [known[Math.max(after - 1, 0)], known[after < 0 ? known.length - 1 : after]];
    let exact = [left, right].find((s) => difference(s.ends[0]) <= 0 && difference(s.ends[1]) >= 0);
    const balance = function* (angle) {
      const found = joint.support(angle);
      yield;
      const [first, last] = found.ends.map(difference);
      if (first <= 0 && last >= 0) {
        exact = found;
        return 0;
      }
      if (first < 0) left = found.angle > left.angle ? found : left;
      else right = found.angle < right.angle ? found : right;
      return first;
    };
    if (!exact) {
      yield* zero(balance, left.angle, right.angle, difference(left.ends[1]), difference(right.ends[0]), 1e-15);
    }
    const [a, b] = exact ? exact.ends : [left.ends[1], right.ends[0]];
    const [x, y] = [difference(a), difference(b)];
    const q = between(a, b, y > x ? -x / (y - x) : 0); // on a chord of the set, which is convex
    const bounds = [exact, left, right].filter(Boolean).map((s) => s.value / (Math.cos(s.angle) + Math.sin(s.angle)));
    const angle = (exact || left).angle;
    return { ...at(angle, q, f.value(q), 0), meanBound: Math.min(f.mean(q), Math.max(...bounds)) };
  }

  Object.assign(explorer, { optimum, finish });
})();

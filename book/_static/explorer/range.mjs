// The joint range of two groups, as in src/evenspan/reconstruction/joint_range.py: every direction is one eigenvalue
// problem and gives the lowest points of the set in it, with the line that no projection crosses.
(() => {
  "use strict";
  const explorer = window.evenspanExplorer;
  const TIE = 1e-10; // eigenvalues closer than this share of the largest entry are tied
  const FRONTIER = 91;
  const ROUND = 180;

  /** A full symmetric matrix from its lower triangle, row after row. */
  function full(lower, d) {
    const matrix = new Float64Array(d * d);
    for (let i = 0, at = 0; i < d; i++) {
      for (let j = 0; j <= i; j++, at++) matrix[i * d + j] = matrix[j * d + i] = lower[at];
    }
    return matrix;
  }

  const largest = (matrix) => matrix.reduce((most, x) => Math.max(most, Math.abs(x)), 0);

  function trace(matrix, d) {
    let sum = 0;
    for (let i = 0; i < d; i++) sum += matrix[i * d + i];
    return sum;
  }

  class JointRange {
    constructor(M0, M1, d, k) {
      Object.assign(this, { M0, M1, d, k, evaluations: 0, known: new Map() });
      this.scale = Math.max(largest(M0), largest(M1));
      this.traces = [trace(M0, d), trace(M1, d)];
    }

    /** u' M v for rows of eigenvectors that start at two places. */
    form(M, vectors, u, v = u) {
      const d = this.d;
      let sum = 0;
      for (let i = 0; i < d; i++) {
        let row = 0;
        for (let j = 0; j < d; j++) row += M[i * d + j] * vectors[v + j];
        sum += vectors[u + i] * row;
      }
      return sum;
    }

    /** The points that minimise cos(angle) q0 + sin(angle) q1: one, or the two ends of a straight piece. */
    support(angle, tie = TIE) {
      if (tie === TIE && this.known.has(angle)) return this.known.get(angle);
      this.evaluations++;
      const { d, k, M0, M1 } = this;
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      const mixture = Float64Array.from(M0, (x, i) => cos * x + sin * M1[i]);
      const { values, vectors } = explorer.symmetric(mixture, d);
      const cut = d - k;
      const slack = tie * this.scale;
      let first = cut;
      while (first > 0 && values[first - 1] >= values[cut] - slack) first--;
      let last = cut + 1;
      while (last < d && values[last] <= values[cut] + slack) last++;
      const pair = [...this.traces];
      for (let i = first === cut ? cut : last; i < d; i++) {
        pair[0] -= this.form(M0, vectors, i * d);
        pair[1] -= this.form(M1, vectors, i * d);
      }
      let ends = [pair, pair];
      if (first < cut) ends = this.straight(vectors, first, last, k - (d - last), pair, cos, sin);
      const found = { angle, value: values.slice(0, cut).reduce((sum, x) => sum + x, 0), ends };
      if (tie === TIE) this.known.set(angle, found);
      return found;
    }

    /** Both ends of a straight piece: s directions of a tied eigenspace, taken by the form along the piece. */
    straight(vectors, first, last, s, fixed, cos, sin) {
      const { d, M0, M1 } = this;
      const q = last - first;
      const along = new Float64Array(q * q);
      for (let i = 0; i < q; i++) {
        for (let j = 0; j <= i; j++) {
          const [u, v] = [(first + i) * d, (first + j) * d];
          along[i * q + j] = along[j * q + i] = sin * this.form(M0, vectors, u, v) - cos * this.form(M1, vectors, u, v);
        }
      }
      const rotation = explorer.symmetric(along, q).vectors;
      const kept = Array.from({ length: q }, (_, i) => {
        const direction = new Float64Array(d);
        for (let j = 0; j < q; j++) {
          for (let x = 0; x < d; x++) direction[x] += rotation[i * q + j] * vectors[(first + j) * d + x];
        }
        return [this.form(M0, direction, 0), this.form(M1, direction, 0)];
      });
      // Counter-clockwise the set runs along (sin, -cos): who keeps most of that has not come far.
      return [kept.slice(q - s), kept.slice(0, s)].map((some) =>
        some.reduce(([x, y], [a, b]) => [x - a, y - b], fixed),
      );
    }

    /** Solves the directions of the drawing one by one, so that the page can breathe in between. */
    *drawn() {
      for (let i = 0; i < FRONTIER; i++) if (this.support((Math.PI / 2) * (i / (FRONTIER - 1)))) yield;
      for (let i = 0; i < ROUND; i++) if (this.support(2 * Math.PI * (i / ROUND))) yield;
      yield this.support(-Math.PI / 4);
      yield this.support((3 * Math.PI) / 4);
    }

    /** The closed boundary from n directions, counter-clockwise; a straight piece gives both of its ends. */
    boundary(n = ROUND) {
      const supports = Array.from({ length: n }, (_, i) => this.support(2 * Math.PI * (i / n)));
      return supports.flatMap(({ ends: [a, b] }) => (a[0] === b[0] && a[1] === b[1] ? [a] : [a, b]));
    }

    /** Boundary points for weights from all on the first group to all on the second. */
    frontier(n = FRONTIER) {
      const supports = Array.from({ length: n }, (_, i) => this.support((Math.PI / 2) * (i / (n - 1))));
      return supports.flatMap((found) => found.ends);
    }

    /** Smallest error that each group can have with k directions of its own. */
    own() {
      return [this.support(0).value, this.support(Math.PI / 2).value];
    }

    /** Smallest and largest q0 - q1; equal errors exist exactly if they enclose zero. */
    extremeGaps() {
      return [Math.SQRT2 * this.support(-Math.PI / 4).value, -Math.SQRT2 * this.support((3 * Math.PI) / 4).value];
    }
  }

  Object.assign(explorer, { full, JointRange, TIE });
})();

// Eigenvalues and eigenvectors of a small symmetric matrix. A classic script in spite of its ending: files that end in
// .js are loaded by every page of the book, this one only by the page that asks for it, also from disk.
(() => {
  "use strict";
  const EPSILON = 2 ** -52;

  // Householder reflections that leave the diagonal and its neighbour. Row i of W is what becomes of the i-th axis.
  function tridiagonal(A, n) {
    const diagonal = new Float64Array(n);
    const beside = new Float64Array(n);
    const reflections = [];
    const p = new Float64Array(n);
    for (let k = 0; k < n - 2; k++) {
      const v = new Float64Array(n);
      let square = 0;
      for (let i = k + 1; i < n; i++) {
        v[i] = A[i * n + k];
        square += v[i] * v[i];
      }
      const tail = square - v[k + 1] * v[k + 1];
      diagonal[k] = A[k * n + k];
      if (tail <= 0) {
        beside[k] = v[k + 1]; // nothing to remove
        reflections.push(null);
        continue;
      }
      const length = v[k + 1] > 0 ? -Math.sqrt(square) : Math.sqrt(square);
      v[k + 1] -= length; // away from zero, so that no digits are lost
      beside[k] = length;
      const beta = 2 / (tail + v[k + 1] * v[k + 1]);
      let along = 0;
      for (let i = k + 1; i < n; i++) {
        let sum = 0;
        for (let j = k + 1; j < n; j++) sum += A[i * n + j] * v[j];
        p[i] = beta * sum;
        along += p[i] * v[i];
      }
      for (let i = k + 1; i < n; i++) p[i] -= 0.5 * beta * along * v[i];
      for (let i = k + 1; i < n; i++) {
        for (let j = k + 1; j < n; j++) A[i * n + j] -= v[i] * p[j] + p[i] * v[j];
      }
      reflections.push({ v, beta });
    }
    for (let k = Math.max(n - 2, 0); k < n; k++) diagonal[k] = A[k * n + k];
    if (n > 1) beside[n - 2] = A[(n - 1) * n + n - 2];
    const W = new Float64Array(n * n);
    for (let i = 0; i < n; i++) W[i * n + i] = 1;
    for (let k = n - 3; k >= 0; k--) {
      if (!reflections[k]) continue;
      const { v, beta } = reflections[k];
      for (let i = k + 1; i < n; i++) {
        let sum = 0;
        for (let j = k + 1; j < n; j++) sum += W[i * n + j] * v[j];
        sum *= beta;
        for (let j = k + 1; j < n; j++) W[i * n + j] -= sum * v[j];
      }
    }
    return { diagonal, beside, W };
  }

  // One step of the implicit QR method with Wilkinson's shift on rows first to last: a bulge is chased down.
  function chase(d, e, W, n, first, last) {
    const half = 0.5 * (d[last - 1] - d[last]);
    const b = e[last - 1];
    const root = Math.hypot(half, b);
    const shift = d[last] - (b * b) / (half + (half < 0 ? -root : root));
    let x = d[first] - shift;
    let z = e[first];
    for (let k = first; k < last; k++) {
      const r = Math.hypot(x, z);
      const c = r === 0 ? 1 : x / r;
      const s = r === 0 ? 0 : z / r;
      if (k > first) e[k - 1] = r;
      const [upper, middle, lower] = [d[k], e[k], d[k + 1]];
      d[k] = c * c * upper + 2 * c * s * middle + s * s * lower;
      d[k + 1] = s * s * upper - 2 * c * s * middle + c * c * lower;
      e[k] = c * s * (lower - upper) + (c * c - s * s) * middle;
      if (k < last - 1) {
        x = e[k];
        z = s * e[k + 1];
        e[k + 1] *= c;
      }
      for (let j = k * n, end = j + n; j < end; j++) {
        const [one, other] = [W[j], W[j + n]];
        W[j] = c * one + s * other;
        W[j + n] = c * other - s * one;
      }
    }
  }

  /** Eigenvalues in increasing order; row i of `vectors` (n x n, row after row) belongs to the i-th. */
  function symmetric(matrix, n) {
    const { diagonal: d, beside: e, W } = tridiagonal(Float64Array.from(matrix), n);
    let last = n - 1;
    let steps = 0;
    while (last > 0) {
      const small = (i) => Math.abs(e[i]) <= EPSILON * (Math.abs(d[i]) + Math.abs(d[i + 1]));
      if (small(last - 1)) {
        e[--last] = 0;
        continue;
      }
      let first = last - 1;
      while (first > 0 && !small(first - 1)) first--;
      if (++steps > 60 * n) throw new Error(`the eigenvalues of a matrix of order ${n} were not found`);
      chase(d, e, W, n, first, last);
    }
    const order = Array.from(d.keys()).sort((i, j) => d[i] - d[j]);
    const vectors = new Float64Array(n * n);
    order.forEach((from, to) => vectors.set(W.subarray(from * n, from * n + n), to * n));
    return { values: Float64Array.from(order, (i) => d[i]), vectors };
  }

  window.evenspanExplorer = Object.assign(window.evenspanExplorer || {}, { symmetric });
})();

// The criteria as functions of the two errors: the larger of two concave branches whose common value grows in both.
// Those with a penalty are src/evenspan/reconstruction/robust_exact.py, Branches; a radius of zero leaves linear ones.
(() => {
  "use strict";

  /** Largest value of v times an expected error over a ball of radius e about a distribution with error q. */
  function worst(v, q, e) {
    const root = Math.sqrt(Math.max(q, 0));
    return v >= 0 ? v * (q + 2 * Math.sqrt(e) * root + e) : v * Math.max(root - Math.sqrt(e), 0) ** 2;
  }

  function slope(v, q, e) {
    const ratio = q > 0 ? Math.sqrt(e / q) : Number(e > 0);
    return v >= 0 ? v * (1 + ratio) : v * Math.max(1 - ratio, 0);
  }

  function criterion(branches, gradient, kink) {
    const value = (q) => Math.max(...branches(q));
    const balance = (q) => {
      const [first, second] = branches(q);
      return first - second;
    };
    return { branches, value, balance, gradient, kink };
  }

  function average(shares) {
    const mean = (q) => shares[0] * q[0] + shares[1] * q[1];
    return criterion((q) => [mean(q), mean(q)], () => shares, 0);
  }

  /** The larger of the errors, each less an offset: zero for errors, the group's own best for losses. */
  function largest(offsets) {
    const branches = (q) => [q[0] - offsets[0], q[1] - offsets[1]];
    return criterion(branches, (q) => (q[0] - offsets[0] >= q[1] - offsets[1] ? [1, 0] : [0, 1]), offsets[0] - offsets[1]);
  }

  /** Worst case over balls of these radii of the average error plus a penalty on the difference. */
  function robust(shares, radii, penalty) {
    const weights = (sign) => [shares[0] + sign * penalty, shares[1] - sign * penalty];
    const branch = (sign, q) => weights(sign).reduce((sum, v, g) => sum + worst(v, q[g], radii[g]), 0);
    const branches = (q) => [branch(1, q), branch(-1, q)];
    const gradient = (q) => {
      const [first, second] = branches(q);
      return weights(first >= second ? 1 : -1).map((v, g) => slope(v, q[g], radii[g]));
    };
    return criterion(branches, gradient, 0);
  }

  /** The difference of the errors. It has no branches that grow: its smallest value is looked up, not searched. */
  function gap(shares) {
    return {
      value: (q) => Math.abs(q[0] - q[1]),
      mean: (q) => shares[0] * q[0] + shares[1] * q[1],
      lexicographic: true,
      kink: 0,
    };
  }

  const CRITERIA = {
    average: {
      label: "Smallest average error (PCA)",
      short: "average error",
      make: ({ shares }) => average(shares),
    },
    error: {
      label: "Smallest worst error (min-max error)",
      short: "larger of the two errors",
      make: () => largest([0, 0]),
    },
    loss: {
      label: "Smallest worst loss (min-max loss)",
      short: "larger of the two losses",
      make: ({ own }) => largest(own),
    },
    penalty: {
      label: "Average error plus penalty on the gap",
      short: "average error plus penalty times the gap",
      penalty: true,
      make: ({ shares, penalty }) => robust(shares, [0, 0], penalty),
    },
    gap: {
      label: "Smallest gap, then smallest average (u-FPCA)",
      short: "gap between the errors",
      make: ({ shares }) => gap(shares),
    },
    robust: {
      label: "Robust objective with penalty and radius",
      short: "worst-case average error plus penalty times the gap",
      penalty: true,
      radius: true,
      make: ({ shares, counts, penalty, radius }) =>
        robust(shares, counts.map((n) => radius / Math.sqrt(n)), penalty),
    },
  };

  Object.assign(window.evenspanExplorer, { CRITERIA });
})();

"""Faults of one line, each of which the tests of its area have to find; :mod:`tests.test_mutants` puts them in."""

from typing import NamedTuple

#: Files of ``src`` and the tests that guard them.
AREAS = {
    "evenspan/core/accumulator.py": ("core/test_moments.py", "core/test_dask.py"),
    "evenspan/core/moments.py": ("core/test_moments.py", "core/test_voice.py"),
    "evenspan/core/groups.py": ("core/test_moments.py", "core/test_frames.py", "core/test_refusals.py"),
    "evenspan/core/answer.py": ("core/test_certificate.py", "core/test_fair_pca.py", "core/test_sklearn.py"),
    "evenspan/core/linalg.py": ("core/test_linalg.py",),
    "evenspan/core/streams.py": ("core/test_streams.py",),
    "evenspan/metrics/reconstruction.py": ("metrics/test_reconstruction.py",),
    "evenspan/metrics/representation.py": ("metrics/test_representation.py",),
    "evenspan/metrics/population.py": ("metrics/test_population.py",),
    "evenspan/metrics/prediction.py": ("metrics/test_prediction.py",),
    "evenspan/metrics/bootstrap.py": ("metrics/test_bootstrap.py", "metrics/test_group_frame.py"),
    "evenspan/metrics/group_frame.py": ("metrics/test_group_frame.py",),
    "evenspan/representation/constraints.py": ("core/test_fair_pca.py", "core/test_leace.py"),
    "evenspan/representation/fair_pca.py": ("core/test_fair_pca.py",),
    "evenspan/representation/leace.py": ("core/test_leace.py",),
    "evenspan/representation/mmd_fair_pca.py": ("core/test_mmd_fair_pca.py",),
    "evenspan/representation/fair_kernel_pca.py": ("core/test_fair_kernel_pca.py",),
    "evenspan/representation/null_it_out.py": ("core/test_fair_pca.py",),
    "evenspan/representation/noisy_power.py": ("core/test_streaming_fair_pca.py",),
    "evenspan/reconstruction/joint_range.py": ("core/test_joint_range.py", "core/test_min_max.py"),
    "evenspan/reconstruction/min_max.py": ("core/test_min_max.py",),
    "evenspan/reconstruction/robust_exact.py": ("core/test_robust_exact.py",),
    "evenspan/clustering/kernels.py": ("core/test_kernels.py", "core/test_fair_multiple_kernel_kmeans.py"),
    "evenspan/clustering/row_update.py": ("core/test_row_update.py",),
    "evenspan/clustering/kernel_kmeans.py": ("core/test_kernel_kmeans.py",),
    "evenspan/clustering/fair_spectral.py": ("core/test_fair_spectral.py",),
    "evenspan/clustering/fairness_first.py": ("core/test_fairness_first.py",),
    "compendium/papers/zhou2024/agreement.py": ("experiments/test_paper_judges.py",),
    "compendium/papers/zhou2024/base_kernels.py": ("experiments/test_zhou2024_kernels.py",),
    "compendium/papers/rathore2025/algorithm_1.py": ("experiments/test_rathore2025_algorithm_1.py",),
    "compendium/ledger/verdicts.py": ("experiments/test_verdicts.py", "experiments/test_ledger.py"),
    "compendium/ledger/table.py": ("experiments/test_ledger.py", "experiments/test_verdicts.py"),
    "compendium/claim_rules.py": ("experiments/test_contradictions.py", "experiments/test_claims_both_ways.py"),
    "compendium/edits.py": ("experiments/test_study.py", "experiments/test_edits.py"),
    "compendium/study.py": ("experiments/test_study.py",),
    "compendium/store.py": ("experiments/test_study.py",),
    "compendium/records.py": ("experiments/test_study.py", "experiments/test_compare.py"),
    "compendium/own.py": ("experiments/test_notebooks.py",),
}


class Mutant(NamedTuple):
    file: str
    line: str
    fault: str


#: By file: what stands there, and what takes its place.
FAULTS = r"""
evenspan/core/accumulator.py
    add_square(scatters[a], delta, counts[a] * n_b / n)  =>  add_square(scatters[a], delta, counts[a] / n)
    means[a] += (n_b / n) * delta  =>  means[a] += 0.5 * delta
    means[g] += n_b / n * delta  =>  means[g] += n_a / n * delta
    shifted = means + (other.origin - self.origin)  =>  shifted = means
    Y *= np.sqrt(weights)[:, None]  =>  Y *= weights[:, None]
    blas.dsyr2(0.5, a - b, a + b,  =>  blas.dsyr2(0.5, a + b, a + b,
    if not counts.all():  =>  if False:
evenspan/core/moments.py
    (self.means - reference.mean) / scale,  =>  (self.means - self.mean) / scale,
    self.kept / np.outer(scale, scale)  =>  self.kept / scale
    return np.where(np.asarray(counts) > 1.0, counts - 1.0, counts)  =>  return counts - 1.0
    centred = self.means if offset is None else  =>  centred = self.means if True else
    return np.where(deviation <= 1e-12 * size, 1.0, deviation)  =>  return deviation
    index = [self.position(feature) for  =>  index = [0 * self.position(feature) for
evenspan/core/groups.py
    if n is not None and length != n:  =>  if n is not None and length < n:
    if missing := int((codes < 0).sum(axis=0)):  =>  if missing := 0:
    return labels, rank[codes]  =>  return labels, order[codes]
evenspan/core/answer.py
    return self.dual - self.primal if  =>  return 0.5 * (self.dual - self.primal) if
    <= rtol * scale and self.feasibility <= rtol  =>  <= rtol * scale
    return -rtol * scale <= self.gap <=  =>  return self.gap <=
    t_feasible = max(t,  =>  t_feasible = min(t,
    return in_pandas(T) @ A + self.mean  =>  return in_pandas(T) @ A
    return X @ A - offset @ A  =>  return X @ A + offset @ A
evenspan/core/linalg.py
    if not difference <= rtol * largest:  =>  if False:
    return 0.5 * (S + transposed) if  =>  return S if
    return values[: -k - 1 : -1], vectors[:, : -k - 1 : -1]  =>  return values[:k], vectors[:, :k]
evenspan/core/streams.py
    labelled != n:  =>  labelled < n:
    iterator, self._iterator = self._iterator, None  =>  iterator = self._iterator
evenspan/metrics/reconstruction.py
    + (offsets**2).sum(axis=1) - ((  =>  - (offsets**2).sum(axis=1) - ((
    within = lost / moments.counts  =>  within = lost / moments.n
    return moments.means - mean  =>  return moments.means
    if departure > 1e-8:  =>  if departure > 10:
evenspan/metrics/representation.py
    return float(pdist(means).max(  =>  return float(pdist(means).min(
    degrees(projected.counts)  =>  projected.counts
    block /= -2.0 * bandwidth**2  =>  block /= -(bandwidth**2)
    - 2.0 * _mean_kernel(  =>  - _mean_kernel(
evenspan/metrics/population.py
    (seen.counts * (seen.counts - 1.0))  =>  (seen.counts - 1.0)
    apart = errors - counts * means  =>  apart = errors
evenspan/metrics/prediction.py
    return np.full(len(scores), scores.mean(axis=0)) if  =>  return scores if
evenspan/metrics/bootstrap.py
    if (lost > LOST).any():  =>  if False:
    - n * np.outer(mean, mean)  =>  - np.outer(mean, mean)
    wholes - 2.0 * products + lengths  =>  wholes - products
evenspan/metrics/group_frame.py
    np.where(ratios > 1.0, 1.0 / ratios, ratios)  =>  ratios
    sums[id(answer)].pooled(), draws)[:, 0]  =>  sums[id(answer)], draws)[:, 0]
evenspan/representation/constraints.py
    groups.counts[:, None] * (groups.means - groups.mean)  =>  groups.counts[:, None] * groups.means
    constant = lengths <= 1e-12  =>  constant = lengths <= 0.5
    H = basis.T @ S @ basis  =>  H = basis.T @ basis
    or pd.isna(y).any():  =>  :
evenspan/representation/fair_pca.py
    return covariances[0] - covariances[1]  =>  return covariances[0] + covariances[1]
    self.tradeoff * self.standard_subspace_.apply(X)  =>  self.standard_subspace_.apply(X)
    kept = max(k, int(self.covariance_fraction * groups.d))  =>  kept = k
evenspan/representation/leace.py
    * (n / degrees(n))  =>  * 1.0
    dual = 2.0 * float  =>  dual = 3.0 * float
    G = G[back]  =>  G = G
evenspan/representation/mmd_fair_pca.py
    slopes = (sums[:, :k] - sums[:, k:] * E)  =>  slopes = (sums[:, :k] + sums[:, k:] * E)
    move <= SMALLEST_MOVE and accuracy <= FINE and mmd2 <= self.max_mmd2  =>  move <= SMALLEST_MOVE
evenspan/representation/fair_kernel_pca.py
    return vectors[:, kept] / np.sqrt(values[kept])  =>  return vectors[:, kept] / values[kept]
    A = (s * Q - Z @ (W.T @ (s * Q))) / np.sqrt(values)  =>  A = s * Q / np.sqrt(values)
    if lanczos and (positive or is_semidefinite(K)):  =>  if lanczos:
    else [Z, Z[:, :0]]  =>  else [Z, Z]
evenspan/representation/null_it_out.py
    order = np.argsort(-np.abs(values), kind="stable")[:m]  =>  order = np.argsort(-values, kind="stable")[:m]
    matrices.append(scatter / degrees(count))  =>  matrices.append(scatter)
evenspan/representation/noisy_power.py
    order = np.argsort(-np.abs(values), kind="stable")  =>  order = np.argsort(values, kind="stable")
    row -= total * origin  =>  pass
    return V - times(U, U.T @ V) if U.shape[1] else V  =>  return V
evenspan/reconstruction/joint_range.py
    return np.sqrt(2.0) * low.value, -np.sqrt(2.0) * high.value  =>  return low.value, -high.value
    value = float(values[: -self.k].sum(axis=0))  =>  value = float(values[self.k :].sum(axis=0))
evenspan/reconstruction/min_max.py
    primal = float((joint.pair(V) - own).max(axis=0))  =>  primal = float((joint.pair(V) - own).min(axis=0))
    - weights @ own  =>  + 0.0
evenspan/reconstruction/robust_exact.py
    return max(self(q))  =>  return min(self(q))
    grown1 = q0 + 2.0 * ball0 * root0 + e0, q1 + 2.0 * ball1 * root1 +  =>  grown1 = q0 + e0, q1 +
evenspan/clustering/kernels.py
    row -= (own + means) - mean  =>  row -= own - mean
compendium/papers/zhou2024/agreement.py
    linear_sum_assignment(table, maximize=True)  =>  linear_sum_assignment(table)
    for axis in (0, 1))  =>  for axis in (0,))
compendium/papers/zhou2024/base_kernels.py
    2.0 ** (number - UNIT_WIDTH)  =>  2.0 ** (number - 8)
evenspan/clustering/row_update.py
    self.fair[target, group] += self.weight  =>  self.fair[target, group] -= self.weight
    self.q[source] += k - 2.0 * (  =>  self.q[source] += k + 2.0 * (
    converged = last == 0 or not state.improvable()  =>  converged = True
evenspan/clustering/kernel_kmeans.py
    - self.objective_  =>  + 0.0
    if nearest[i] <= tie:  =>  if False:
evenspan/clustering/fair_spectral.py
    return indicators - indicators.mean(axis=0)  =>  return indicators * 1.0
    if found.gap <= TIE * shift:  =>  if False:
evenspan/clustering/fairness_first.py
    change[~addable[p.codes]] = np.inf  =>  pass
    self.counts[self.codes[i], target] += 1  =>  pass
compendium/papers/rathore2025/algorithm_1.py
    V = np.divide(-numerator, squares,  =>  V = np.divide(numerator, squares,
    if value < best[0]:  =>  if value > best[0]:
compendium/ledger/verdicts.py
    if abs(gap) <= rounding:  =>  if gap <= rounding:
    if side * our_side < 0:  =>  if side * our_side > 0:
    kind is Kind.RANK if timed else kind in (Kind.EXACT, Kind.CLOSE)  =>  kind is not Kind.DIFFERS
    abs(gap) / max(rounding  =>  abs(gap) / min(rounding
compendium/ledger/table.py
    if declared or chance is None or chance == 1:  =>  if chance is None or chance == 1:
    chance = sum(map(agrees, wrong)) / len(wrong) if wrong else None  =>  chance = 0.0
    Result.OTHER if agrees(by) else Result.NOT  =>  Result.OTHER if by else Result.NOT
    if not ours.counted:  =>  if False:
compendium/claim_rules.py
    HOLDS if all(parts) else  =>  HOLDS if any(parts) else
    HOLDS if good == total else  =>  HOLDS if good else
compendium/edits.py
    tokenize.NL, tokenize.ENDMARKER)  =>  tokenize.NL, tokenize.ENDMARKER, tokenize.NUMBER)
compendium/study.py
    if self.full or not self.edited_reason:  =>  if True:
    return None if unit and unit.changed else unit  =>  return unit
    rows = [frame.assign(source=COMPUTED) for  =>  rows = [frame.assign(source=read) for
    if not self.edited_reason and not no_data:  # a published unit that fails is not to be passed over  =>  if False:
    name in there and there[name] != value}  =>  name not in there}
compendium/store.py
    if other := [name for name, digest in data.items()  =>  if other := [name for name, digest in {}.items()
compendium/records.py
    if digest(content) != sha256:  =>  if False:
    if (twice := frame.duplicated(key)).any():  =>  if (twice := frame.duplicated(key)).all():
    return "" if math.isnan(value) else repr(value)  =>  return "" if math.isnan(value) else f"{value:.6g}"
compendium/own.py
    if known := resolve_name(kind.__name__).method:  =>  if False:
    ).max(axis=None)) > 1e-6:  =>  ).max(axis=None)) > 1e6:
"""


def mutants() -> list[Mutant]:
    """The faults, one after another."""
    found, file = [], ""
    for line in FAULTS.strip().splitlines():
        if line.startswith("    "):
            found.append(Mutant(file, *line[4:].split("  =>  ")))
        else:
            file = line
    return found

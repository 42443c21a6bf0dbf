"""Calls that cannot work: a type checker rejects every one. Never run."""

import numpy as np

import evenspan
from evenspan import FairKernelKMeans, FairPCA, GroupMoments, metrics

X, sex = np.zeros((4, 3)), np.array(["f", "m", "f", "m"])
moments = GroupMoments.from_data(X, sex)
fair = FairPCA(2).fit(X, sensitive_features=sex)

FairPCA("2")
FairPCA(2, "mean")
FairPCA(2, components=3)
FairPCA(2, standardize="yes")
FairPCA(2).fit(X)
FairPCA(2).fit(X, sex)
FairPCA(2).fit_transform(X)
FairPCA(2, tradeoff="none")
FairPCA(numeric_attributes=3)
evenspan.FairPcA(2)
evenspan.MinMaxFairPCA(2, nested="no")
evenspan.RobustFairPCA(2, restarts=5)
evenspan.SparseFairPCA(2, penalty=None)
evenspan.StreamingFairPCA(None)
FairKernelKMeans(3, max_iter=2.5)
FairKernelKMeans(3, 1.0, "rbf")
evenspan.KernelKMeans(n_cluster=3)
evenspan.WeightRule(step="large")
fair.certificate_.is_closed()
moments.marginal(3)
GroupMoments.from_data(X)
GroupMoments.from_batch([(X, sex)])
evenspan.ArrayStream(X)
evenspan.GroupFrame(fair, X, sex)
metrics.group_aucs("linear", (X, sex), (X, sex))
evenspan.audit("people.csv", "sex")
evenspan.audit("people.csv", sensitive="sex", concern=3)

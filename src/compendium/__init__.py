"""The reproduction of the papers: data sets, experiments, ledger, book. It needs the checkout; evenspan does not."""

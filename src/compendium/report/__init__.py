"""What readers see: execution of notebooks, figures, tables, verdicts, ledger, and the assembly of the book."""

"""No paper made this comparison, so that there are no claims of others to put to the test."""

CLAIMS: dict = {}

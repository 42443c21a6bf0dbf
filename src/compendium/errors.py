"""What only the compendium refuses: names that are not registered, and raw data that cannot be had."""

from evenspan.core.errors import FairError


class RegistryError(FairError, KeyError):
    """A data set, experiment, parameter or task of that name does not exist; the message lists those that do."""

    def __str__(self):  # KeyError would print the message with quotation marks and escapes
        return str(self.args[0]) if self.args else ""


class FetchError(FairError, OSError):
    """A raw data file could not be obtained or does not have its recorded checksum; ``remedy`` says it in a line."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy or message

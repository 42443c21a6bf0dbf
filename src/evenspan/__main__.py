"""The command ``evenspan``, also ``python -m evenspan``."""

from .auditing.command import app


def main() -> None:
    """Entry point of the command ``evenspan``."""
    app()


if __name__ == "__main__":
    main()

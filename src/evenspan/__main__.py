"""The command ``evenspan``, also ``python -m evenspan``: signals are listened to before anything else is imported."""

from .core.ending import guarded


def _work() -> None:
    from .cli import app

    app()


def main() -> None:
    """Entry point of the command ``evenspan``."""
    guarded(_work, "Nothing was written.")


if __name__ == "__main__":
    main()

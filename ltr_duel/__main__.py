"""``python -m ltr_duel`` runs the command ``ltr-duel``."""

from ltr_duel.cli.main import main

if __name__ == "__main__":
    main()

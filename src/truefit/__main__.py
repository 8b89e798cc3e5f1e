"""``python -m truefit`` runs the command line."""

from truefit._cli.__main__ import main

if __name__ == "__main__":
    main()

"""``python -m momentlp`` runs the command line."""

from momentlp.cli.entry_point import main

if __name__ == "__main__":
    main()

"""``python -m momentlp``: the command line."""

from momentlp.cli import main

if __name__ == "__main__":
    main()

"""`python -m eigenclean` is the `eigenclean` command."""

from eigenclean.cli import main

if __name__ == "__main__":
    main()

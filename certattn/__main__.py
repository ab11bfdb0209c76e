"""`python -m certattn` is `certattn`."""

from certattn.cli.main import main

if __name__ == "__main__":
    main()

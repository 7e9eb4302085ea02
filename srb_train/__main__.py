"""`python -m srb_train` is `srb`."""

import sys

from srb_train.cli import main

if __name__ == "__main__":
    sys.exit(main())

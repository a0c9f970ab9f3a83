"""`python -m lockwright` is the `lockwright` command."""

import sys

from lockwright.cli import main

sys.exit(main())

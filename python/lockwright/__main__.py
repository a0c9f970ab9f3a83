"""`python -m lockwright` is the `lockwright` command."""

import sys

from lockwright.start import main

sys.exit(main())

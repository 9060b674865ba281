"""`python -m ms_adapter` is the command `ms-adapter`."""

import sys

from ms_adapter.cli import main

sys.exit(main())

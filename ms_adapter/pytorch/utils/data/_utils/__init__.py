"""What the loader is made of: collating, fetching, and the two ends of its worker processes."""

from . import collate, fetch

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds that a worker gets to end by itself

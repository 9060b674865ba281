"""Queues under PyTorch's older names: Python's own already send tensors by shared memory."""

from multiprocessing.queues import Queue, SimpleQueue

__all__ = ["Queue", "SimpleQueue"]

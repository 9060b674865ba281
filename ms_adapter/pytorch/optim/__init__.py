"""torch.optim: optimizers and learning-rate schedulers."""

from . import lr_scheduler
from .adam import Adam
from .adamw import AdamW
from .optimizer import Optimizer
from .sgd import SGD

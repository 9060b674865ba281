"""Makes `torch` mean ms_adapter where it is imported, for libraries that import torch themselves.

>>> import ms_adapter.as_torch
>>> import torch
>>> torch.__name__
'ms_adapter.pytorch'
"""

from ms_adapter import torch_alias

torch_alias.install()

"""batch_norm: run under PyTorch (python reproduce.py) and under ms_adapter (ms-adapter run reproduce.py)."""
import os

import numpy as np
import torch

saved = np.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "inputs.npz"))
t = [torch.from_numpy(saved[f"t{i}"]).to(getattr(torch, dtype)) for i, dtype in enumerate(['float32', 'float32', 'float32', 'float32', 'float32'])]
result = torch.nn.functional.batch_norm(t[0], t[1], t[2], t[3], t[4], True, 0.2, 1e-05)
print(result)
for name in ("reference", "ours"):  # what each run got
    if name in saved:
        print(name, saved[name])

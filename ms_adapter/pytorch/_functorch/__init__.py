"""The transforms behind torch.func and torch.vmap."""

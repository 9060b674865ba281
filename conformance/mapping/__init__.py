"""Measures how PyTorch's public names correspond to MindSpore's: the data behind `ms-adapter map`."""

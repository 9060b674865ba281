"""Records what a script computes, under PyTorch and under us alike: nothing of ms_adapter is imported."""

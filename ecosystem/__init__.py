"""Other people's libraries, unmodified, under ms_adapter and under PyTorch: what runs, and whether numbers agree."""

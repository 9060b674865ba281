"""Libraries of others, unmodified, under ms_adapter and under PyTorch: what runs, which numbers agree."""

"""torch.backends.quantized: engines of quantized operators; there are none here."""

engine = "none"
supported_engines = ["none"]

"""The generator: turns the operator registry (ops/*.toml) into C++ at build time."""

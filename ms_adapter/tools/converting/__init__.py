"""ms-adapter convert: programs with their imports rewritten, and a list of what a person has to look at."""

#!/bin/sh
# Prints the newest Python from 3.11 to 3.13 on this machine; prints python3.11 when there is none, for apt to bring.
for name in python3 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
        command -v "$name"
        exit
    fi
done
echo python3.11

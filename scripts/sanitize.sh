#!/bin/sh
# Builds with ASan and UBSan and runs the C++ tests, then a slice of the Python tests or what follows VENV:
#   sanitize.sh [VENV [PYTHON ARGUMENTS]]
set -eu
venv=${1:-.venv}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- -m pytest -q -m "not slow" -p no:cacheprovider ${SANITIZE_TESTS:-tests}
build=build-sanitize

[ -f $build/build.ninja ] || cmake -S . -B $build -G Ninja -DMSA_SANITIZE=ON -DPython_EXECUTABLE="$(realpath -s "$venv")/bin/python"
ninja -C $build _C core_tests
export UBSAN_OPTIONS=print_stacktrace=1
$build/core_tests  # leaks are looked for too: no interpreter runs here
# Python and PyTorch keep types and interned objects until the process ends; tests ask for more memory than there is,
# and watch the process grow.
export ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=4

# The Python tests read ms_adapter/_C: ours takes its place until they have run.
module=$(basename "$(ls $build/_C*.so)")
restore() { if [ -f "$build/plain.so" ]; then mv -f "$build/plain.so" "ms_adapter/$module"; fi; }
trap restore EXIT INT TERM
[ ! -f "ms_adapter/$module" ] || cp "ms_adapter/$module" $build/plain.so
cp "$build/$module" "ms_adapter/$module"
LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)" \
    "$venv/bin/python" "$@"

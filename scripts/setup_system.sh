#!/bin/sh
# Installs with apt what the build needs and this machine lacks. Usage: setup_system.sh PYTHON
set -eu
python=$1

missing=""
need() { missing="$missing $1"; }
have_package() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

command -v dpkg-query >/dev/null || {
    echo "This is no Debian or Ubuntu: install g++ 11 or newer, oneDNN, SLEEF, KissFFT and doctest by hand, then touch .venv/.stamps/system" >&2
    exit 1
}
command -v g++ >/dev/null || need g++
for package in libdnnl-dev libsleef-dev libkissfft-dev doctest-dev ccache; do
    have_package "$package" || need "$package"
done

# A Python from elsewhere (pyenv, conda) brings venv and headers itself; Debian's has them in packages of their own.
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || echo none)
if [ "$version" = none ]; then
    need "$python" && need "$python-venv" && need "$python-dev"
else
    "$python" -c 'import ensurepip, venv' 2>/dev/null || need "python$version-venv"
    header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h
    [ -f "$header" ] || need "python$version-dev"
fi

[ -n "$missing" ] || exit 0
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
echo "Installing:$missing"
$sudo apt-get update -qq
# shellcheck disable=SC2086  # the list is meant to split
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing

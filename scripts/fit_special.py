"""Fits the Chebyshev series of special functions' smooth parts, each on an interval.

python scripts/fit_special.py > kernels/cpu/elementwise/special_fits.inl
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp

mp.mp.dps = 40
NODES = 80
LEAST = mp.mpf(10) ** -17  # of the largest coefficient: below it a term changes no double


def series(f: Callable[[mp.mpf], mp.mpf], low: float, high: float) -> list[mp.mpf]:
    """Coefficients of f on [low, high], the first one halved already."""
    angles = [mp.pi * (k + mp.mpf("0.5")) / NODES for k in range(NODES)]
    middle, half = (mp.mpf(low) + high) / 2, (mp.mpf(high) - low) / 2
    values = [f(middle + half * mp.cos(a)) for a in angles]
    out = []
    for j in range(NODES):
        products = (v * mp.cos(j * a) for v, a in zip(values, angles, strict=True))
        out.append(2 * mp.fsum(products) / NODES)
    out[0] /= 2
    top = max(map(abs, out))
    while abs(out[-1]) < LEAST * top:
        out.pop()
    return out


def inverse_erf_over_x(w: mp.mpf) -> mp.mpf:
    """erfinv(x) / x where w = -log(1 - x^2)."""
    if w < mp.mpf(10) ** -12:
        return mp.sqrt(mp.pi) / 2 * (1 + w * mp.pi / 12)
    x = mp.sqrt(-mp.expm1(-w))
    wanted = mp.log(mp.exp(-w) / (1 + x))  # of erfc(y)
    y = mp.erfinv(x) if w < 4 else mp.sqrt(w)
    for _ in range(60):
        tail = mp.erfc(y)
        step = (mp.log(tail) - wanted) * tail / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        y += step
        if abs(step) < mp.mpf(10) ** -32 * y:
            break
    return y / x


def k0_smooth(q: mp.mpf) -> mp.mpf:
    """K0(x) + log(x / 2) I0(x), q = x^2."""
    x = mp.sqrt(q)
    return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x) if x else -mp.euler


def k1_smooth(q: mp.mpf) -> mp.mpf:
    """x (K1(x) - log(x / 2) I1(x)), q = x^2."""
    x = mp.sqrt(q)
    return x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x)) if x else mp.mpf(1)


def i1_over_x(x: mp.mpf) -> mp.mpf:
    return mp.besseli(1, x) / x if x else mp.mpf(1) / 2


def far(f: Callable[[mp.mpf], mp.mpf], start: int) -> Callable[[mp.mpf], mp.mpf]:
    """sqrt(x) f(x) as a function of start / x."""
    return lambda u: mp.sqrt(start / u) * f(start / u)


FITS: dict[str, tuple[str, Callable[[mp.mpf], mp.mpf], float, float]] = {
    "kInverseErf0": ("erfinv(x) / x in w = -log(1 - x^2)", inverse_erf_over_x, 0, 6.25),
    "kInverseErf1": ("the same in sqrt(w)", lambda s: inverse_erf_over_x(s * s), 2.5, 4),
    "kInverseErf2": ("", lambda s: inverse_erf_over_x(s * s), 4, 6.25),
    "kInverseErf3": ("", lambda s: inverse_erf_over_x(s * s), 6.25, 27.5),
    "kI0Near": ("exp(-x) I0(x)", lambda x: mp.exp(-x) * mp.besseli(0, x), 0, 8),
    "kI0Far": ("sqrt(x) exp(-x) I0(x) in 8 / x", far(lambda x: mp.exp(-x) * mp.besseli(0, x), 8), 0, 1),
    "kI1Near": ("exp(-x) I1(x) / x", lambda x: mp.exp(-x) * i1_over_x(x), 0, 8),
    "kI1Far": ("sqrt(x) exp(-x) I1(x) in 8 / x", far(lambda x: mp.exp(-x) * mp.besseli(1, x), 8), 0, 1),
    "kI0Small": ("I0(x) in x^2", lambda q: mp.besseli(0, mp.sqrt(q)), 0, 4),
    "kI1Small": ("I1(x) / x in x^2", lambda q: i1_over_x(mp.sqrt(q)), 0, 4),
    "kK0Near": ("K0(x) + log(x / 2) I0(x) in x^2", k0_smooth, 0, 4),
    "kK1Near": ("x (K1(x) - log(x / 2) I1(x)) in x^2", k1_smooth, 0, 4),
    "kK0Far": ("sqrt(x) exp(x) K0(x) in 2 / x", far(lambda x: mp.exp(x) * mp.besselk(0, x), 2), 0, 1),
    "kK1Far": ("sqrt(x) exp(x) K1(x) in 2 / x", far(lambda x: mp.exp(x) * mp.besselk(1, x), 2), 0, 1),
}


def main() -> None:
    print("// Chebyshev series of special functions' smooth parts, made by scripts/fit_special.py;")
    print("// included inside an instruction set's namespace.")
    for name, (what, f, low, high) in FITS.items():
        terms = [mp.nstr(c, 18, min_fixed=0, max_fixed=0) for c in series(f, low, high)]
        if what:
            print(f"// {what}")
        print(f"constexpr double {name}[] = {{  // on [{low}, {high}]")
        for i in range(0, len(terms), 4):
            print("    " + ", ".join(terms[i : i + 4]) + ",")
        print("};")


if __name__ == "__main__":
    main()

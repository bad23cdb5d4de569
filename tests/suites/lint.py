"""The commands of `make lint`."""

from __future__ import annotations

import sys

from tests.suites.suite import ROOT, Suite

PYTHON_SOURCES = (
    "generator/src",
    "trainer/src",
    "trainer/cleanup/src",
    "tools",
    "tests/suites",
)


SERVED = ("--set-json", 'models={"lint": {"source": {"claim": {"name": "lint"}}}}')


def suite(helm: str, seconds: float) -> Suite:
    """Style, types, shell, charts and the values of the chart."""
    shell = (".ci/*", "requirements/*.sh", "trainer/*/*.sh", "charts/*/files/*.sh")
    scripts = tuple(str(path) for one in shell for path in sorted(ROOT.glob(one)))
    named = ("--set", "image.repository=lint", "--set", "program.module=lint:Lint")
    return Suite(
        "lint",
        (
            ("ruff", "check", "."),
            ("ruff", "format", "--check", "."),
            *((sys.executable, "-m", "mypy", source) for source in PYTHON_SOURCES),
            ("shellcheck", *scripts),
            (helm, "lint", "--strict", "--quiet", "charts/tf-cluster", *named),
            (helm, "lint", "--strict", "--quiet", "charts/tf-storage"),
            (helm, "lint", "--strict", "--quiet", "charts/tf-tenant"),
            (helm, "lint", "--strict", "--quiet", "charts/tf-serving", *SERVED),
            (helm, "lint", "--strict", "--quiet", ".", *(_umbrella(named))),
            (sys.executable, "-m", "tools.chart.value_lint"),
            (sys.executable, "-m", "tools.combination_lint"),
            (sys.executable, "-m", "tools.prose_lint"),
        ),
        seconds,
    )


def _umbrella(settings: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(s if s == "--set" else f"tf-cluster.{s}" for s in settings)

"""How hypothesis draws here: as many examples as asked for, the same for a seed, at any pace."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings


def draws(count: int, *, shrinks: bool = True) -> settings:
    """Settings for `count` examples; `shrinks`: what fails is told by its least example."""
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )

"""Progress as one line of text."""

from tf_cluster.progress.document import Progress


def progress_line(progress: Progress) -> str:
    """`running 60.0%, step 1200 of 2000, 412 steps/s, ETA 0:02, loss 0.31, workers 610 590`."""
    words = "running" if progress.status == "running" else what_it_does(progress)
    numbers = ", ".join(figures(progress))
    if not numbers:
        return words
    return f"{words} {numbers}" if words == progress.status else f"{words} ({numbers})"


def what_it_does(progress: Progress) -> str:
    """The status, or the chief's message where that says more."""
    if progress.message.startswith(progress.status):
        return progress.message
    return f"{progress.status}: {progress.message}" if progress.message else progress.status


def figures(progress: Progress) -> list[str]:
    """What is known: percent, step, speed, ETA, loss, steps by worker."""
    said = []
    if progress.percent is not None:
        said.append(f"{progress.percent:.1f}%")
    if progress.step is not None and progress.total is not None:
        said.append(f"step {progress.step} of {progress.total}")
    if progress.steps_per_second is not None:
        said.append(f"{rate(progress.steps_per_second)} steps/s")
    if progress.eta_seconds is not None:
        said.append(f"ETA {duration(progress.eta_seconds)}")
    if progress.loss is not None:
        said.append(f"loss {progress.loss:.3g}")
    if progress.workers:
        by_index = sorted(progress.workers.items(), key=lambda item: int(item[0]))
        said.append("workers " + " ".join(str(steps) for _, steps in by_index))
    return said


def rate(steps_per_second: float) -> str:
    """`412`; `0.031` where a step takes seconds."""
    return f"{steps_per_second:.0f}" if steps_per_second >= 1 else f"{steps_per_second:.2g}"


def duration(seconds: float) -> str:
    """`0:07`, `12:30`, `1:02:03`."""
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

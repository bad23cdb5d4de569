"""Object names that the chart derives from a name, to say which would be too long."""

NAME_LIMIT = 40
DNS_LABEL_LIMIT = 63
_HASH = "3f2a9c1b"  # stands for the attempt's hash
_LAST_WORKER = 9999


def longest_derived_name(name: str) -> str:
    """The longest name derived from `name` (docs/formats.md)."""
    made = (
        f"{name}-worker-{_HASH}-{_LAST_WORKER}",
        f"{name}-cleanup-{_HASH}-0000",
        f"{name}-chief-{_HASH}",
        f"{name}-ps-999-{_HASH}",
    )
    return max(made, key=len)

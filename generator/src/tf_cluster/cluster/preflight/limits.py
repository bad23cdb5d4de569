"""Limit ranges: what they give pods, and what they refuse."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from fractions import Fraction
from typing import Any

from tf_cluster.cluster.preflight.answer import Check, cant_say, fits, never
from tf_cluster.cluster.preflight.look import Cluster
from tf_cluster.cluster.preflight.terms import Json, containers
from tf_cluster.expand.quantity import quantity
from tf_cluster.planning.demand import asked, plain

SUBJECT = "limit ranges"
Data = dict[str, Any]


def with_defaults(template: Json, ranges: Iterable[Json]) -> Data:
    """A pod's template with what the API server and the limit ranges add to its resources."""
    made: Data = deepcopy(dict(template))
    for container in containers(made["spec"]):
        resources = container.setdefault("resources", {})
        limits = resources.setdefault("limits", {})
        requests = resources.setdefault("requests", {})
        for name, value in limits.items():
            requests.setdefault(name, value)
        for rule in _rules(ranges, "Container"):
            for name, value in (rule.get("defaultRequest") or {}).items():
                requests.setdefault(name, value)
            for name, value in (rule.get("default") or {}).items():
                limits.setdefault(name, value)
    return made


def limit_ranges(cluster: Cluster, templates: Mapping[str, Json], claims: Iterable[Json]) -> Check:
    """Whether they refuse a pod or a claim. `templates` have their defaults, by title."""
    if "limitranges" in cluster.unread:
        return cant_say(SUBJECT, "not allowed: list limitranges")
    refused = [
        f"{title}: {words}"
        for title, template in templates.items()
        for words in _of_pod(template, cluster.limitranges)
    ]
    for claim in claims:
        size = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage")
        given = {"storage": quantity(str(size))} if size else {}
        name = claim["metadata"]["name"]
        for rule in _rules(cluster.limitranges, "PersistentVolumeClaim"):
            refused += [f"claim {name}: {words}" for words in _bounds(rule, given, given)]
    if refused:
        return never(SUBJECT, "; ".join(dict.fromkeys(refused)))
    return fits(SUBJECT, "none is in the way" if cluster.limitranges else "there is none")


def _of_pod(template: Json, ranges: Iterable[Json]) -> list[str]:
    found = [
        f"container {container['name']} {words}"
        for container in containers(template["spec"])
        for words in _contradictions(container.get("resources") or {})
    ]
    for rule in _rules(ranges, "Container"):
        for container in containers(template["spec"]):
            resources = container.get("resources") or {}
            requests, limits = (
                _amounts(resources.get("requests")),
                _amounts(resources.get("limits")),
            )
            words = [*_bounds(rule, requests, limits), *_ratios(rule, requests, limits)]
            found += [f"container {container['name']} {one}" for one in words]
    requests, limits = (dict(one) for one in asked(template))
    for rule in _rules(ranges, "Pod"):
        words = [*_bounds(rule, requests, limits), *_ratios(rule, requests, limits)]
        found += [f"the pod {one}" for one in words]
    return found


def _contradictions(resources: Json) -> Iterable[str]:
    """A limit below the request, as a default may be below what somebody asks for."""
    limits = _amounts(resources.get("limits"))
    for name, asked_for in _amounts(resources.get("requests")).items():
        if name in limits and asked_for > limits[name]:
            yield (
                f"asks for {plain(name, asked_for)} of {name}, and its limit, maybe by default, is "
                f"{plain(name, limits[name])}: say a limit"
            )


def _bounds(
    rule: Json, requests: Mapping[str, Fraction], limits: Mapping[str, Fraction]
) -> Iterable[str]:
    for name, least in _amounts(rule.get("min")).items():
        if name not in requests:
            yield f"asks for no {name}, and has to"
        elif requests[name] < least:
            yield f"asks for {_of(name, requests)} of {name}: at least {plain(name, least)}"
        elif name in limits and limits[name] < least:
            yield f"is limited to {_of(name, limits)} of {name}: at least {plain(name, least)}"
    for name, most in _amounts(rule.get("max")).items():
        if name not in limits:
            yield f"has no limit of {name}, and has to"
        elif limits[name] > most or requests.get(name, Fraction(0)) > most:
            yield f"may take {_of(name, limits)} of {name}: at most {plain(name, most)}"


def _ratios(
    rule: Json, requests: Mapping[str, Fraction], limits: Mapping[str, Fraction]
) -> Iterable[str]:
    for name, most in _amounts(rule.get("maxLimitRequestRatio")).items():
        asked_for, limit = requests.get(name), limits.get(name)
        if not asked_for or limit is None:
            yield f"needs a request and a limit of {name}"
        elif limit / asked_for > most:
            ratio = float(limit / asked_for)
            yield f"has a limit of {name} {ratio:.3g} times its request: at most {float(most):g}"


def _of(name: str, given: Mapping[str, Fraction]) -> str:
    return plain(name, given[name])


def _rules(ranges: Iterable[Json], kind: str) -> Iterable[Json]:
    for one in ranges:
        for rule in one["spec"].get("limits") or ():
            if rule["type"] == kind:
                yield rule


def _amounts(given: Json | None) -> dict[str, Fraction]:
    return {name: quantity(str(value)) for name, value in (given or {}).items()}

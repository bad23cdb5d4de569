"""A values file is edited in two keys of one model, and not a byte beside them changes."""

from __future__ import annotations

import random
from typing import Any

import pytest
import yaml
from tf_cluster.cluster.serving.promotion import STABLE, Wanted
from tf_cluster.cluster.serving.values_edit import edited, model_in
from tf_cluster.exits import RefusedError

FILE = "serving.values.yaml"


def edit(text: str, wanted: Wanted, name: str = "digits") -> str:
    return edited(FILE, text.encode(), name, wanted)


WANTED = Wanted({"specific": [3, 4]}, {"stable": 4, "previous": 3})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            """\
# of the team
models:
  digits:
    source: {claim: {name: models, path: digits}}  # where publish puts them
    policy:
      # both stay loaded
      specific: [3]  # by number
    labels:
      # what clients ask for
      stable: 3  # since May
image: {tag: 2.21.0}
""",
            """\
# of the team
models:
  digits:
    source: {claim: {name: models, path: digits}}  # where publish puts them
    policy:
      # both stay loaded
      specific: [3, 4]  # by number
    labels:
      # what clients ask for
      stable: 4  # since May
      previous: 3
image: {tag: 2.21.0}
""",
        ),
        (
            "models:\n  digits:\n    source: {}\n    policy: {specific: [3]}\n"
            "    labels: {stable: 3}\n",
            "models:\n  digits:\n    source: {}\n    policy: {specific: [3, 4]}\n"
            "    labels: {stable: 4, previous: 3}\n",
        ),
        (
            "models:\n  digits:\n    source: {}\n    # the newest\n    policy: {latest: 1}\n"
            "\nreplicas: 2\n",
            "models:\n  digits:\n    source: {}\n    # the newest\n    policy: {specific: [3, 4]}\n"
            "    labels: {stable: 4, previous: 3}\n\nreplicas: 2\n",
        ),
        (
            "models: {digits: {source: {}}, faces: {source: {}}} # flow\n",
            "models: {digits: {source: {}, policy: {specific: [3, 4]}, "
            "labels: {stable: 4, previous: 3}}, faces: {source: {}}} # flow\n",
        ),
        (
            "tf-serving:\n  models:\n    digits:\n      policy:\n        specific:\n"
            "          - 2\n          - 3\n      labels: {previous: 2, stable: 3, canary: 3}",
            "tf-serving:\n  models:\n    digits:\n      policy:\n        specific: [3, 4]\n"
            "      labels: {previous: 3, stable: 4}",
        ),
        (
            "models:\n  digits:\n    policy: {specific: [4]}\n    labels:\n    source: {}\n",
            "models:\n  digits:\n    policy: {specific: [3, 4]}\n"
            "    labels: {stable: 4, previous: 3}\n    source: {}\n",
        ),
        (
            "models:\r\n  digits:\r\n    policy: {latest: 1}\r\n    source: {}\r\n",
            "models:\r\n  digits:\r\n    policy: {specific: [3, 4]}\r\n    source: {}\r\n"
            "    labels: {stable: 4, previous: 3}\r\n",
        ),
    ],
    ids=["comments", "flow", "latest", "all in one line", "umbrella", "null", "windows"],
)
def test_only_the_two_keys_change(before: str, after: str) -> None:
    assert edit(before, WANTED) == after
    assert edit(after, WANTED) == after


def test_a_model_is_read_as_the_chart_reads_it() -> None:
    text = (
        "models:\n  digits:\n    source: {run: {release: digits, id: '1', directory: best}}\n"
        "    policy: {latest: null, specific: [3, 4]}\n    labels: {stable: 3}\n"
    )
    model = model_in(FILE, text.encode(), "digits")
    assert (model.kind, model.claim, model.path) == ("run", "digits-log", "digits/1/best")
    assert (model.loaded, model.labels) == ((3, 4), {"stable": 3})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models: {faces: {}}\n", "has no model digits: it belongs below `models:`"),
        ("models: {digits: {labels: {stable: new}}}\n", "policy or labels of digits are not as"),
        ("models: {digits: {}, digits: {}}\n", "serving.values.yaml:1:22: the key 'digits'"),
        ("models: [\n", "serving.values.yaml:2:1: "),
        (
            "all: &all {specific: [3]}\nmodels: {digits: {policy: *all}, faces: {policy: *all}}\n",
            "can't be edited so that the rest stays as it is. By hand it is: policy: "
            "{specific: [3, 4]}, labels: {stable: 4, previous: 3}",
        ),
    ],
)
def test_what_cant_be_edited_is_refused_with_its_place(text: str, words: str) -> None:
    with pytest.raises(RefusedError) as refused:
        model_in(FILE, text.encode(), "digits")
        edit(text, WANTED)
    assert words in str(refused.value)


class Drawn:
    """A file of several models in styles that people write, with comments at every line's end."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.comments: list[str] = []
        self.labels = {
            name: self.draw.randint(1, 9)
            for name in self.draw.sample(["stable", "previous", "canary", "a-b"], 3)
        }
        self.versions = sorted(set(self.labels.values()))
        models = {"faces": self.model(), "digits": self.model(), "words": self.model()}
        names = self.draw.sample(sorted(models), 3)
        body = [line for name in names for line in (f"  {name}:{self.note()}", *models[name])]
        before = ["replicas: 2" + self.note(), *self.between(), "models:" + self.note()]
        after = self.draw.choice([[], ["", "image:" + self.note(), "  tag: 2.21.0" + self.note()]])
        self.text = "\n".join([*before, *body, *after]) + self.draw.choice(["", "\n"])

    def note(self) -> str:
        if self.draw.random() < 0.6:
            return ""
        self.comments.append(f"# note {len(self.comments)}")
        return f"  {self.comments[-1]}"

    def between(self) -> list[str]:
        if self.draw.random() < 0.7:
            return []
        self.comments.append(f"# line {len(self.comments)}")
        return [f"{' ' * self.draw.choice([0, 4, 6])}{self.comments[-1]}"]

    def model(self) -> list[str]:
        parts = [
            [*self.between(), f"    source: {{claim: {{name: models, path: x}}}}{self.note()}"]
        ]
        parts += [self.policy()] if self.draw.random() < 0.8 else []
        parts += [self.named()] if self.draw.random() < 0.8 else []
        self.draw.shuffle(parts)
        return [line for part in parts for line in part]

    def policy(self) -> list[str]:
        style = self.draw.choice(["latest", "flow", "block", "list", "null"])
        inside = ", ".join(map(str, self.versions))
        if style == "latest":
            return [f"    policy: {{latest: 1}}{self.note()}"]
        if style == "flow":
            return [f"    policy: {{specific: [{inside}]}}{self.note()}"]
        if style == "block":
            head = [f"    policy:{self.note()}", *self.between()]
            return [*head, f"      specific: [{inside}]{self.note()}"]
        if style == "null":
            return ["    policy:"]
        items = [f"        - {one}" for one in self.versions]
        return ["    policy:", "      specific:", *items]

    def named(self) -> list[str]:
        style = self.draw.choice(["flow", "block", "empty"])
        if style == "flow":
            inside = ", ".join(f"{key}: {one}" for key, one in self.labels.items())
            return [f"    labels: {{{inside}}}{self.note()}"]
        if style == "empty":
            return [f"    labels: {{}}{self.note()}"]
        lines = ["    labels:" + self.note()]
        for key, one in self.labels.items():
            lines += [*self.between(), f"      {key}: {one}{self.note()}"]
        return lines


@pytest.mark.parametrize("seed", range(150))
def test_whatever_people_write_says_the_same_but_for_what_was_wished(seed: int) -> None:
    drawn = Drawn(seed)
    draw = random.Random(-seed)
    before: dict[str, Any] = yaml.safe_load(drawn.text)
    labels = {key: draw.randint(1, 9) for key in draw.sample(["stable", "previous", "canary"], 2)}
    labels = draw.choice([labels, {}])
    wanted = Wanted({"specific": sorted({1, *labels.values()})}, labels)
    after = edit(drawn.text, wanted)
    said = yaml.safe_load(after)
    model = said["models"]["digits"]
    assert model["policy"] == wanted.policy
    assert model.get("labels", {}) == labels
    for one in (before, said):
        one["models"]["digits"].pop("policy", None)
        one["models"]["digits"].pop("labels", None)
    assert said == before
    lost = [one for one in drawn.comments if one not in after]
    kept = set(drawn.text.splitlines()) & set(after.splitlines())
    assert set(after.splitlines()) - kept <= {
        line for line in after.splitlines() if ":" in line or "-" in line
    }
    # What stands on the line of a label that goes may go with it, and nothing else.
    of_labels = [line for line in drawn.text.splitlines() if any(one in line for one in lost)]
    for line in of_labels:
        name = line.strip().partition(":")[0]
        assert name in {*drawn.labels, "labels"} or line.strip().startswith("#"), (line, after)
    assert edit(after, wanted) == after


def test_a_label_is_taken_away_with_its_line_alone() -> None:
    text = (
        "models:\n  digits:\n    labels:\n      # the one before\n      previous: 3  # good\n"
        "      # what is asked for\n      stable: 4\n    policy: {specific: [3, 4]}\n"
    )
    after = edit(text, Wanted({"specific": [4]}, {STABLE: 4}))
    assert after == (
        "models:\n  digits:\n    labels:\n      # the one before\n"
        "      # what is asked for\n      stable: 4\n    policy: {specific: [4]}\n"
    )

"""A promotion has begun and not ended."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View
from tf_cluster.cluster.serving.promotion import STABLE, half_promoted


def _look(view: View) -> Iterator[Finding]:
    for one, model in view.models():
        for version in half_promoted(model):
            loaded = ", ".join(map(str, model.loaded))
            where = f"--release {view.training.name} -n {view.namespace}"
            yield Finding(
                RULE.code,
                f"deployment/{one.name}",
                f"{model.name} {version} is loaded, and no label names it: a promotion of it "
                "goes on, or was killed",
                f"tf-cluster promote {model.name} {version} {where} goes on; tf-cluster "
                f"rollback {model.name} {where} takes it back",
                f"loaded: {loaded}; {STABLE}: {model.labels[STABLE]}",
            )


RULE = Rule(
    code="TFD128",
    about="a promotion has begun and not ended",
    why="`tf-cluster promote` loads a version beside the stable one, asks it, and then moves the "
    "label. One that was killed in between leaves both loaded. Requests that name no version and "
    "no label get the new one already.",
    evidence="The annotation `tf-cluster.io/models`: a version that the policy names and no label.",
    mend="Promote the same version again, or roll back.",
    look=_look,
)

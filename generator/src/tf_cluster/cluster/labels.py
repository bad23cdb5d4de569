"""The labels and annotations by which objects of a training are found."""

INSTANCE = "app.kubernetes.io/instance"
NAME = "app.kubernetes.io/name"
COMPONENT = "app.kubernetes.io/component"
ATTEMPT = "tf-cluster.io/attempt"
"""Every Job, Deployment and pod that works on a run has it, whoever made it and however named."""
INDEX = "tf-cluster.io/index"
RUN = "tf-cluster.io/run"
CHART = "helm.sh/chart"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
JOB_NAME = "batch.kubernetes.io/job-name"
HELM_RELEASE = "meta.helm.sh/release-name"
ARGO_CD_TRACKING = "argocd.argoproj.io/tracking-id"
SERVING = "serving"
"""The component of a server's Deployment and pods."""
MODELS = "tf-cluster.io/models"
"""On a server's Deployment: its models, with source, policy and labels, as JSON."""
FLUX = "helm.toolkit.fluxcd.io/name"

STOPPED = "tf-cluster.io/stopped"
"""On a Job that `tf-cluster stop` has ended: when. Neither Helm nor Argo CD takes it away."""

CLIENTS = ("chief", "worker")
"""The components whose Job is the client's, whose end is the training's: the first one there is."""
TASKS = ("chief", "worker", "ps", "evaluator")
"""The components that are tasks, in the order in which they are shown."""

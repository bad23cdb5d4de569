"""The codes of findings. A code never changes its meaning; docs/params.md lists them."""

NOT_TEXT = "TFC101"
YAML_SYNTAX = "TFC102"
EMPTY = "TFC103"
NOT_A_MAPPING = "TFC104"
DUPLICATE_KEY = "TFC105"
AMBIGUOUS = "TFC106"
NOT_FINITE = "TFC107"
UNSUPPORTED_YAML = "TFC108"
TOO_LARGE_NUMBER = "TFC109"

UNKNOWN_KEY = "TFC201"
MISSING_KEY = "TFC202"
WRONG_TYPE = "TFC203"
NOT_A_CHOICE = "TFC204"
OUT_OF_RANGE = "TFC205"
WRONG_FORM = "TFC206"
TWO_FORMS = "TFC207"

NAME_TOO_LONG = "TFC301"
NO_COMBINATION = "TFC303"
MOMENTUM = "TFC304"
REQUEST_OVER_LIMIT = "TFC305"
CHECKPOINT_NEVER = "TFC306"
STEPS_PER_CALL = "TFC307"
IMAGE_MISSING = "TFC308"
PATH_NOT_ABSOLUTE = "TFC309"
SAID_TWICE = "TFC310"
CHART_REFUSES = "TFC311"
RESERVED_RUN_ID = "TFC312"
MOMENTUM_MISSING = "TFC313"
RESERVED_VARIABLE = "TFC314"
VARIABLE_TWICE = "TFC315"
RESERVED_LABEL = "TFC316"
WAIT_TOO_LONG = "TFC317"
ABSENT_ROLE = "TFC318"
NOTHING_DECAYS = "TFC319"
END_FACTOR_MISSING = "TFC320"
WARMUP_TOO_LONG = "TFC321"
UNKNOWN_REFERENCE = "TFC322"
NOT_FOR_SCRIPTS = "TFC323"
CODE_FILE = "TFC324"
CODE_TOO_LARGE = "TFC325"
NOT_IN_SOURCE = "TFC326"
IDLE_GPUS = "TFC327"
UNPRINTABLE = "TFC330"
CONFIG_TOO_LARGE = "TFC331"
ONE_VOLUME_TWICE = "TFC332"
COUNTED_RESOURCE = "TFC340"
ANNOTATIONS_TOO_LARGE = "TFC341"
VOLUME_WITHOUT_CLASS = "TFC342"

TITLES = {
    NOT_TEXT: "the file is not UTF-8 text",
    YAML_SYNTAX: "the file is not valid YAML",
    EMPTY: "the file is empty",
    NOT_A_MAPPING: "the file is not a mapping",
    DUPLICATE_KEY: "a key stands twice in one mapping",
    AMBIGUOUS: "YAML readers disagree on this value",
    NOT_FINITE: "a number is infinite or not a number",
    UNSUPPORTED_YAML: "a YAML feature that values files do not use",
    TOO_LARGE_NUMBER: "a whole number that Helm can't keep exactly",
    UNKNOWN_KEY: "unknown key",
    MISSING_KEY: "a required key is missing",
    WRONG_TYPE: "a value of the wrong type",
    NOT_A_CHOICE: "not one of the words accepted here",
    OUT_OF_RANGE: "a number or a length out of range",
    WRONG_FORM: "a text that has not the form needed",
    TWO_FORMS: "two forms of which only one can be used",
    NAME_TOO_LONG: "the names made from this name would be too long",
    NO_COMBINATION: "strategy, replication and update do not go together",
    MOMENTUM: "momentum goes with the optimizer Momentum only",
    REQUEST_OVER_LIMIT: "a resource request is over its limit",
    CHECKPOINT_NEVER: "checkpoints by steps never happen",
    STEPS_PER_CALL: "one call makes more steps than the whole run",
    IMAGE_MISSING: "a cluster needs an image",
    PATH_NOT_ABSOLUTE: "a path in a container has to be absolute",
    SAID_TWICE: "extraValues sets what another key sets",
    CHART_REFUSES: "the chart does not accept this value",
    RESERVED_RUN_ID: "a run id that `tf-cluster run` uses for its own folders",
    MOMENTUM_MISSING: "the optimizer Momentum without its momentum",
    RESERVED_VARIABLE: "an environment variable that the chart or Kubernetes sets",
    VARIABLE_TWICE: "an environment variable stands twice",
    RESERVED_LABEL: "a label that is the chart's own",
    WAIT_TOO_LONG: "a ps waits longer than its grace period",
    ABSENT_ROLE: "settings of a role that this way of training does not have",
    NOTHING_DECAYS: "settings of a decay, with the learning rate constant",
    END_FACTOR_MISSING: "an exponential decay without its end",
    WARMUP_TOO_LONG: "a warm-up of the learning rate that the run does not finish",
    UNKNOWN_REFERENCE: "an argument of the script uses a $(NAME) that is not there",
    NOT_FOR_SCRIPTS: "a setting that a script does not read",
    CODE_FILE: "a file of program.source.files can't be used",
    CODE_TOO_LARGE: "program.source.files are too large for a ConfigMap",
    NOT_IN_SOURCE: "a path that does not lead into program.source",
    IDLE_GPUS: "GPUs that a task would not use",
    UNPRINTABLE: "a text with a character that can't get to a task",
    CONFIG_TOO_LARGE: "the tasks' configuration is too large for a ConfigMap",
    ONE_VOLUME_TWICE: "one PersistentVolume for two claims",
    COUNTED_RESOURCE: "devices or huge pages that Kubernetes can't give so",
    ANNOTATIONS_TOO_LARGE: "more annotations than an object takes",
    VOLUME_WITHOUT_CLASS: "a PersistentVolume without the class of its claim",
}

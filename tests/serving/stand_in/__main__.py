"""`python -m tests.serving.stand_in FLAGS`: the stand-in's process (model_servers/server.cc).

It asks for no signal, as the true server does not (serving#1853): SIGTERM ends it at once, with
what it computes. Where it is the first process of a container, SIGTERM does not end it at all.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from tests.serving.stand_in import NAME, runtime

runtime.without_its_imports()

from tensorflow.core.protobuf import config_pb2  # noqa: E402
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig  # noqa: E402

from tests.serving.stand_in import batching, configs, flags, metrics, rest, services  # noqa: E402
from tests.serving.stand_in.core import PLATFORM, Core  # noqa: E402
from tests.serving.stand_in.manager import Loading, Manager  # noqa: E402
from tests.serving.stand_in.metrics import Metrics  # noqa: E402
from tests.serving.stand_in.served import Loader, Served  # noqa: E402
from tests.serving.stand_in.states import States  # noqa: E402
from tests.serving.stand_in.status import StatusError, invalid  # noqa: E402
from tests.serving.stand_in.versions import log  # noqa: E402

FAILED = 255  # main returns -1


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal ends it; an exit code where it does not come so far."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    log(NAME)
    try:
        given = flags.parsed(arguments)
    except flags.FlagError as error:
        print(f"{error}\nthis is a {NAME}", flush=True)
        return FAILED
    if given.version:
        print(f"TensorFlow ModelServer: {NAME}", flush=True)
        print(f"TensorFlow Library: {runtime.Library().version}", flush=True)
        return 0
    try:
        _serve(given)
    except StatusError as error:
        print(f"Failed to start server. Error: {error}", flush=True)
        return FAILED
    threading.Event().wait()
    return 0


def _serve(given: flags.Flags) -> None:
    """Load the models, then open the ports. Raises StatusError."""
    config = _models(given)
    found = Metrics()
    loader = _loader(given, found)
    states = States()
    loading = Loading(
        loader.load,
        given.max_num_load_retries,
        given.load_retry_interval_micros / 1e6,
        given.num_load_threads,
        given.num_unload_threads,
    )
    manager: Manager[Served] = Manager(states, loading, flags.THREADS)
    core = Core(
        states,
        manager,
        given.file_system_poll_wait_seconds,
        given.allow_version_labels_for_unavailable_models,
    )
    core.reload(config)
    if given.model_config_file and given.model_config_file_poll_wait_seconds > 0:
        core.poll_config(given.model_config_file, given.model_config_file_poll_wait_seconds)
    arguments = given.grpc_channel_arguments
    _keep.append(services.server(core, found, given.port, given.grpc_max_threads, arguments))
    log(f"Running gRPC ModelServer at 0.0.0.0:{given.port} ...")
    if given.rest_api_port:
        _start_rest(given, core, found)


_keep: list[object] = []  # a gRPC server ends with its last reference


def _start_rest(given: flags.Flags, core: Core[Served], found: Metrics) -> None:
    if given.rest_api_port == given.port:
        log("server_options.http_port cannot be same as grpc_port.")
        return
    path = ""
    if given.monitoring_config_file:
        prometheus = configs.monitoring(given.monitoring_config_file).prometheus_config
        path = (prometheus.path or metrics.PATH) if prometheus.enable else ""
    served = rest.Rest(
        core, found, given.rest_api_timeout_in_ms, given.rest_api_enable_cors_support, path
    )
    try:
        rest.start(served, given.rest_api_port, given.rest_api_num_threads)
    except OSError as error:
        log(f"Failed to start HTTP Server at localhost:{given.rest_api_port}: {error}")
        return
    log(f"Exporting HTTP/REST API at:localhost:{given.rest_api_port} ...")


def _models(given: flags.Flags) -> ModelServerConfig:
    if not given.port:
        raise invalid(
            "At least one of server_options.grpc_port or server_options.grpc_socket_path must be "
            "set."
        )
    if not given.model_base_path and not given.model_config_file:
        raise invalid(
            "Both server_options.model_base_path and server_options.model_config_file are empty!"
        )
    if given.model_config_file:
        return configs.models(given.model_config_file)
    made = ModelServerConfig()
    made.model_config_list.config.add(
        name=given.model_name, base_path=given.model_base_path, model_platform=PLATFORM
    )
    return made


def _loader(given: flags.Flags, found: Metrics) -> Loader:
    parameters = None
    if given.enable_batching:
        message = configs.classes()["BatchingParameters"]()
        if given.batching_parameters_file:
            message = configs.batching(given.batching_parameters_file)
        parameters = batching.parameters(message)
    elif given.batching_parameters_file:
        raise invalid(
            "server_options.batching_parameters_file is set without setting "
            "server_options.enable_batching to true."
        )
    intra, inter = given.tensorflow_intra_op_parallelism, given.tensorflow_inter_op_parallelism
    whole = given.tensorflow_session_parallelism
    if intra > 0 and inter > 0 and whole > 0:
        raise invalid(
            "Either configure server_options.tensorflow_session_parallelism or "
            "(server_options.tensorflow_intra_op_parallelism, "
            "server_options.tensorflow_inter_op_parallelism) separately. You cannot configure all."
        )
    if not (intra > 0 or inter > 0):
        intra = inter = whole
    config = config_pb2.ConfigProto(
        intra_op_parallelism_threads=intra, inter_op_parallelism_threads=inter
    )
    return Loader(
        runtime.Library(),
        found,
        given.saved_model_tags.split(","),
        config.SerializeToString(),
        given.enable_model_warmup,
        given.num_request_iterations_for_warmup,
        given.enable_signature_method_name_check,
        parameters,
        ThreadPoolExecutor(parameters.threads) if parameters else None,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

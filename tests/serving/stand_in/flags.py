"""The flags of tensorflow_model_server that the stand-in has; it refuses all others.

The true server prints `unknown argument` for what it does not know and starts all the same; it says
its usage and ends with 255 for a value that it can't read (model_servers/main.cc). A flag that it
has and the stand-in has not is refused by name: no test may pass because a flag did nothing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields

THREADS = 4 * len(os.sched_getaffinity(0))
"""Of gRPC, of REST, and of the loads at the start (port::NumSchedulableCPUs)."""

REFUSED = (
    "grpc_socket_path",
    "enable_per_model_batching_parameters",
    "tensorflow_session_config_file",
    "use_alts_credentials",
    "ssl_config_file",
    "platform_config_file",
    "per_process_gpu_memory_fraction",
    "remove_unused_fields_from_bundle_metagraph",
    "prefer_tflite_model",
    "num_tflite_pools",
    "num_tflite_interpreters_per_pool",
    "xla_cpu_compilation_enabled",
    "xla_gpu_compilation_enabled",
    "enable_profiler",
    "thread_pool_factory_config_file",
    "mixed_precision",
    "skip_initialize_tpu",
    "enable_grpc_healthcheck_service",
    "enable_serialization_as_tensor_content",
)
"""What the true server has beside the fields of Flags."""


@dataclass(frozen=True)
class Flags:
    """The true server's names and defaults (model_servers/server.h)."""

    port: int = 8500
    rest_api_port: int = 0
    rest_api_num_threads: int = THREADS
    rest_api_timeout_in_ms: int = 30000
    rest_api_enable_cors_support: bool = False
    enable_batching: bool = False
    batching_parameters_file: str = ""
    allow_version_labels_for_unavailable_models: bool = False
    model_config_file: str = ""
    model_config_file_poll_wait_seconds: int = 0
    model_name: str = "default"
    model_base_path: str = ""
    num_load_threads: int = 0
    num_unload_threads: int = 0
    max_num_load_retries: int = 5
    load_retry_interval_micros: int = 60_000_000
    file_system_poll_wait_seconds: int = 1
    # The true one's POSIX file system has no cache to flush, either.
    flush_filesystem_caches: bool = True
    tensorflow_session_parallelism: int = 0
    tensorflow_intra_op_parallelism: int = 0
    tensorflow_inter_op_parallelism: int = 0
    saved_model_tags: str = "serve"
    grpc_channel_arguments: str = ""
    grpc_max_threads: int = THREADS
    enable_model_warmup: bool = True
    num_request_iterations_for_warmup: int = 0
    version: bool = False
    monitoring_config_file: str = ""
    enable_signature_method_name_check: bool = False


class FlagError(Exception):
    """A flag that can't be had, with the reason."""


def parsed(arguments: Sequence[str]) -> Flags:
    """The flags, each as `--name=value`; a switch may stand alone. Raises FlagError."""
    kinds = {field.name: type(field.default) for field in fields(Flags)}
    given: dict[str, object] = {}
    for word in arguments:
        name, equals, text = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in kinds:
            if word.startswith("--") and name in REFUSED:
                raise FlagError(f"the stand-in does not implement --{name}")
            raise FlagError(f"unknown argument: {word}")
        if kinds[name] is str and equals:
            given[name] = text
        elif kinds[name] is bool and (not equals or text.lower() in ("true", "1", "false", "0")):
            given[name] = not equals or text.lower() in ("true", "1")
        elif kinds[name] is int and text.lstrip("-").isdecimal():
            given[name] = int(text)
        else:
            raise FlagError(f"Couldn't interpret value {text!r} for flag {name}.")
    return Flags(**given)  # type: ignore[arg-type]

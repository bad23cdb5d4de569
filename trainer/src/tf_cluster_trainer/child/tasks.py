"""What the child of each type of task does, and how it reports its end."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import ExitStack

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.child import collection, device_flags
from tf_cluster_trainer.child.control import listen
from tf_cluster_trainer.child.stop import Stop
from tf_cluster_trainer.config import Config, ConfigError
from tf_cluster_trainer.config import load as load_config
from tf_cluster_trainer.log import ERROR, log
from tf_cluster_trainer.protocol import Channel, Failure, Ready


def run(environment: MutableMapping[str, str], stop: Stop) -> int:
    """Do this task's work and return the exit code; if it is a failure, a Failure was sent."""
    channel = Channel.of_child(environment)
    orders = listen(channel)
    try:
        _prepare(environment)
        config = load_config(environment)
        settings = config.settings
        device_flags.give(environment, config.task.type, settings.combination, settings.xla)
        if not (config.is_chief or config.trains or config.evaluates):
            return _serve(config, channel, environment)
    except ConfigError as error:
        return _failed(channel, exit_codes.CONFIG, str(error))

    # TensorFlow is imported from here on.
    with collection.put_off():
        from tf_cluster_trainer.child import chief, evaluator, failures, worker
        from tf_cluster_trainer.child.records import Start
        from tf_cluster_trainer.program import prepare
        from tf_cluster_trainer.servers import unused_gpu
        from tf_cluster_trainer.servers.lost import Servers
        from tf_cluster_trainer.strategies import registry

    servers = None  # nobody is needed yet
    with ExitStack() as at_end:
        try:
            unused_gpu.warn(environment)
            if config.trains:
                registry.configure(config)
            prepared = prepare.prepare(config)
            join = registry.prepare(config, prepared) if config.trains else None
            channel.send(Ready())
            if config.evaluates:
                return evaluator.evaluate(config, prepared, channel, orders)
            orders.go.wait()
            servers = Servers(config.cluster, settings.combination, config.task.name)
            start = Start(config, prepared, channel, stop, servers, at_end)
            if join:
                return worker.train(start, join)
            return chief.train(start)
        except BaseException as error:
            failure = failures.explain(error, servers)
            if failure.details:
                log(failure.details, ERROR)
            return _failed(channel, failure.code, failure.message, failure.lost)


def _prepare(environment: MutableMapping[str, str]) -> None:
    environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # tf.keras is then tf_keras, as programs need it. Keras 3 and its imports, a second of every
    # start, stay out.
    environment.setdefault("TF_USE_LEGACY_KERAS", "1")
    if environment.setdefault("GRPC_FAIL_FAST", "use_caller") == "false":
        raise ConfigError(
            "GRPC_FAIL_FAST is false: the chief would wait without end for a task that was killed; "
            "unset it or use use_caller"
        )


def _serve(config: Config, channel: Channel, environment: Mapping[str, str]) -> int:
    from tf_cluster_trainer.servers import serve

    return serve.serve(config.task, config.cluster, channel, environment)


def _failed(channel: Channel, code: int, message: str, lost: Sequence[str] = ()) -> int:
    log(message, ERROR)
    channel.send(Failure(message, lost))
    return code

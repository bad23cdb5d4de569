"""What both in-graph strategies share: the connected cluster, and data sets made on workers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint.pieces import is_small, total
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.config import Cluster
from tf_cluster_trainer.errors import HookError, ProgramError
from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.program import initializers, precision, tables
from tf_cluster_trainer.program.trial import build_model
from tf_cluster_trainer.servers.serve import naming_a_taken_port
from tf_cluster_trainer.strategies.context import StrategyContext
from tf_cluster_trainer.strategies.in_graph.first_rows import FirstRows
from tf_cluster_trainer.strategies.step import devices, parts, sharded


def check_sizes(variables: Mapping[str, TensorSpec], computing_in: str) -> None:
    """Raise ProgramError for a variable that could not get to the ps, nor from there."""
    if computing_in == precision.FULL:
        parts.check_rows(variables)
    else:
        parts.check_whole(variables, f"in {computing_in}")


def connected_strategy(
    cluster: Cluster, computing_in: str, variables: Mapping[str, TensorSpec]
) -> Any:
    """Connect this process, the chief, to every worker and ps; return TensorFlow's strategy.

    Large variables are partitioned among the ps if the model computes in float32: tf_keras can't
    read partitions in another precision. Raises ConfigError if the chief's own port is taken.
    """
    sharded.install()
    cut = parts.partitioner(cluster.size("ps"), variables.values())
    address = cluster.cluster["chief"][0]
    with naming_a_taken_port("chief-0", address, tf.errors.UnknownError):
        return _strategy(cluster, cut if computing_in == precision.FULL else None)


def _strategy(cluster: Cluster, partitioner: Callable[..., Any] | None) -> Any:
    return tf.distribute.ParameterServerStrategy(
        tf.distribute.cluster_resolver.SimpleClusterResolver(
            tf.train.ClusterSpec(cluster.spec()),
            task_type="chief",
            task_id=0,
            rpc_layer="grpc",
        ),
        variable_partitioner=partitioner,
    )


@contextlib.contextmanager
def scope(strategy: Any) -> Iterator[None]:
    """Variables are the strategy's; parts of one begin with values as the whole one has them."""
    with contextlib.ExitStack() as scopes:
        scopes.enter_context(strategy.scope())
        cut = strategy.extended._variable_partitioner
        if isinstance(cut, parts.Partitioner):
            scopes.enter_context(tf.variable_creator_scope(cut.keep_constrained))
        scopes.enter_context(tf.variable_creator_scope(initializers.in_scale))
        yield


def build_on_ps(context: StrategyContext) -> Any:
    """Build the program's model in `scope`. Raises ProgramError.

    A call that is made here looks rows up in a table by having all of it sent. So the first call of
    a large model is traced, unless that fails.
    """
    program, ctx, features = context.program, context.ctx, context.trial.features
    variables = context.trial.variables.values()
    with tf.variable_creator_scope(FirstRows(variables).create):
        if not is_small(total(variables)):
            try:
                return build_model(program, ctx, features, traced=True)
            except HookError as error:
                log(
                    f"the model is built by a call that reads its variables, since: {error}",
                    WARNING,
                )
        return build_model(program, ctx, features)


def for_workers(make: Callable[[], Any]) -> Any:
    """Wrap `make`, which returns a data set, in a tf.function with its tables on the worker.

    Tracing raises ProgramError if the data set uses what no worker can reach.
    """

    def of_worker() -> Any:
        with tables.of_the_graph():
            dataset = make()
        _check_reach(tf.compat.v1.get_default_graph())
        return dataset

    # No AutoGraph: it would rewrite every library that the program reads its data with.
    return tf.function(of_worker, autograph=False)


def _check_reach(graph: Any) -> None:
    """Raise ProgramError if a data set uses what no worker can reach; log slow tables."""
    used = {outer.device for outer, _ in graph.captures if outer.dtype == tf.resource}
    if any(device.startswith("/job:localhost") for device in used):
        raise ProgramError(
            "dataset uses a table that was made before the cluster was connected; "
            "make a new one in each call of dataset"
        )
    if devices.CHIEF in used:
        log(
            "dataset makes a table inside a function (map, ...): every worker asks the chief for "
            "every example; make the table in dataset itself and use it there"
        )

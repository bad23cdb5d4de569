"""Between-graph replication by hand, as in TensorFlow 1.

`between_graph.py MODEL async K`, or `between_graph.py MODEL sync`: SyncReplicasOptimizer has no
way to make several steps in one call.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

import tensorflow.compat.v1 as tf
from telling import Telling

tf.disable_v2_behavior()


def main() -> None:
    config = json.loads(os.environ["TF_CONFIG"])
    kind, index = config["task"]["type"], config["task"]["index"]
    cluster = tf.train.ClusterSpec(config["cluster"])
    if kind == "ps":
        tf.train.Server(cluster, job_name=kind, task_index=index).join()
    work, sync = importlib.import_module(sys.argv[1]), sys.argv[2] == "sync"
    options = tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"])
    server = tf.train.Server(cluster, job_name=kind, task_index=index, config=options)
    worker = f"/job:worker/task:{index}"
    with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device=worker)):
        iterator = tf.data.make_one_shot_iterator(work.batches())
        model = work.model()
        step = tf.train.get_or_create_global_step()
        optimizer, hooks = work.graph_optimizer(), []
        if sync:
            workers = cluster.num_tasks("worker")
            optimizer = tf.train.SyncReplicasOptimizer(optimizer, workers, workers)
            hooks.append(optimizer.make_session_run_hook(index == 0))

        def minimize() -> Any:
            features, labels = iterator.get_next()
            loss = work.loss(labels, model(features, training=True))
            return optimizer.minimize(loss, global_step=step)

        def and_count(made: Any) -> Any:
            with tf.control_dependencies([minimize()]):
                return made + 1

        if sync or sys.argv[3] == "1":
            train = minimize()
        else:
            train = tf.while_loop(lambda made: made < int(sys.argv[3]), and_count, [0])
    telling = Telling()
    with tf.train.MonitoredTrainingSession(
        master=server.target, is_chief=index == 0, config=options, hooks=hooks
    ) as session:
        while not session.should_stop():
            _, made = session.run([train, step])
            if telling.due():
                telling.tell(int(made))


main()

"""Parameter servers the TensorFlow 1 way: every worker trains, the ps join.

It is told its cluster by flags, as such programs have always been.
"""

import argparse

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.INFO)

parser = argparse.ArgumentParser()
parser.add_argument("--ps_hosts", required=True)
parser.add_argument("--worker_hosts", required=True)
parser.add_argument("--job_name", choices=["ps", "worker"], required=True)
parser.add_argument("--task_index", type=int, required=True)
parser.add_argument("--log_dir", required=True)
parser.add_argument("--steps", type=int, default=2000)
parser.add_argument("--sync", action="store_true")
options = parser.parse_args()

workers = options.worker_hosts.split(",")
cluster = tf.train.ClusterSpec({"ps": options.ps_hosts.split(","), "worker": workers})
server = tf.train.Server(cluster, job_name=options.job_name, task_index=options.task_index)
if options.job_name == "ps":
    server.join()  # never returns: the ps are ended when the training is done

is_chief = options.task_index == 0
with tf.device(
    tf.train.replica_device_setter(
        cluster=cluster, worker_device=f"/job:worker/task:{options.task_index}"
    )
):
    features = tf.random.uniform((32, 4))
    labels = tf.reduce_sum(features, axis=1, keepdims=True)
    weights = tf.get_variable("weights", (4, 1), initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(features, weights) - labels))
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    hooks = [tf.train.StopAtStepHook(last_step=options.steps)]
    if options.sync:
        optimizer = tf.train.SyncReplicasOptimizer(optimizer, len(workers))
        hooks.append(optimizer.make_session_run_hook(is_chief))
    train = optimizer.minimize(loss, global_step=step)

with tf.train.MonitoredTrainingSession(
    master=server.target,
    is_chief=is_chief,
    checkpoint_dir=options.log_dir,
    hooks=hooks,
    config=tf.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{options.task_index}"]),
    stop_grace_period_secs=2,  # without it a chief that is in step with others does not end
) as session:
    while not session.should_stop():
        _, last, at = session.run([train, loss, step])
print(f"step {at}, loss {last:.6f}")

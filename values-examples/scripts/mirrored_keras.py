"""Keras fit under MultiWorkerMirroredStrategy: every worker runs this, there are no ps.

Keras 3 can't fit under this strategy; tf_keras (Keras 2) can.
"""

import argparse
import json
import os
from pathlib import Path

import tensorflow as tf
import tf_keras as keras

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
options = parser.parse_args()

strategy = tf.distribute.MultiWorkerMirroredStrategy()
is_chief = strategy.cluster_resolver.task_id == 0
features = tf.random.stateless_uniform((2048, 4), seed=(1, 2))
labels = tf.reduce_sum(features, axis=1, keepdims=True)
data = tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(64)
shard = tf.data.Options()
shard.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA

with strategy.scope():
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(0.05), loss="mse")
logs = Path(os.environ["LOG_DIR"])
history = model.fit(
    data.with_options(shard),
    epochs=options.epochs,
    steps_per_epoch=50,
    verbose=2,
    callbacks=[keras.callbacks.BackupAndRestore(str(logs / "backup"))],
)
# Every worker has to save, since that is a collective operation; one of them does it for good.
place = "model" if is_chief else f"scratch-{strategy.cluster_resolver.task_id}"
model.save(logs / place)
if is_chief:
    losses = [float(loss) for loss in history.history["loss"]]
    (logs / "history.json").write_text(json.dumps({"loss": losses}))

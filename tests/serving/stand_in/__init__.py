"""A stand-in for TensorFlow Serving 2.21.0's `tensorflow_model_server`: for tests, and only there.

The true server's binary can't be had where these tests run. This one has its flags, its ports and
the behaviours that our chart and verbs depend on; the models run for real, in the C library of the
TensorFlow wheel, which is what the true server is built on. It says what it is in the first line of
its log and in the header of each answer, and it refuses a flag that it does not implement.

What it is held to: the source of TensorFlow Serving (the file is named where a rule comes from),
and tests/serving, whose cases take the true binary when SERVING_BINARY names one.
"""

NAME = "stand-in for TensorFlow Serving 2.21.0, for tests only: this is not TensorFlow Serving"
HEADER = "x-tf-serving-stand-in"
HEADER_WORDS = "tests only; not TensorFlow Serving"

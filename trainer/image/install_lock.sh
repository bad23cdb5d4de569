#!/bin/sh
# install_lock.sh NAME==VERSION: install the lock beside this script that holds this TensorFlow.
set -eu
cd "$(dirname "$0")"
lock=$(grep -lFx "$1 \\" ./*.txt | head -n 1)
if [ -z "$lock" ]; then
  echo "No lock here has $1 (there are:" ./*.txt")." >&2
  echo "Make one in the repository with \`make lock TF_VERSION=${1#*==}\`, then build again." >&2
  exit 1
fi

touch /tmp/begun
# --no-deps: the lock is complete, and tf-keras would pull the GPU wheel over tensorflow-cpu.
pip install --no-cache-dir --no-compile --no-deps --require-hashes -r "$lock"
rm ./*.txt

# NVIDIA's libraries get a path without Python's version (../Dockerfile names it).
# TensorFlow's C++ headers (290 MB) and libclang (64 MB) are for building operations, which is not
# done here. Byte code is made now, by all cores, and is not checked against the sources any more:
# the root file system is read-only, and a start reads ten thousand files.
cd "$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
rm -rf tensorflow/include clang
[ ! -d nvidia ] || ln -s "$PWD/nvidia" /opt/tf-cluster/nvidia
find "$PWD" -name '*.py' -newer /tmp/begun \
  | python -m compileall -q -j 0 --invalidation-mode unchecked-hash -i -
rm /tmp/begun

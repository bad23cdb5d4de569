#!/bin/sh
# Start JupyterLab in NOTEBOOK_DIR (default: notebooks in the home) with a copy of the demo; a copy
# that is there stays as it is. It asks for a token: JUPYTER_TOKEN, or one that it makes and prints.
set -eu
if [ "${JUPYTER_TOKEN-unset}" = "" ]; then
  echo "JUPYTER_TOKEN is empty, which would let everybody in: set it, or leave it out." >&2
  exit 2
fi
mkdir -p "${NOTEBOOK_DIR:=$HOME/notebooks}"
cd "$NOTEBOOK_DIR"
[ -e in-graph-client.ipynb ] || cp /opt/tf-cluster/notebook/in-graph-client.ipynb .
exec jupyter lab --ip=0.0.0.0 --port=8888 --no-browser "$@"

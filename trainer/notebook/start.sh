#!/bin/sh
# Start JupyterLab in NOTEBOOK_DIR (default: notebooks in the home) with a copy of the demo; a copy
# that is there stays as it is. It asks for a token: JUPYTER_TOKEN, or a random one that it makes at
# its first start and keeps in NOTEBOOK_DIR/.token. With NOTEBOOK_CULL_SECONDS it ends a kernel that
# computes nothing, and that no browser is connected to, after so long: it counts as a client.
set -eu
if [ "${JUPYTER_TOKEN-unset}" = "" ]; then
  echo "JUPYTER_TOKEN is empty, which would let everybody in: set it, or leave it out." >&2
  exit 2
fi
mkdir -p "${NOTEBOOK_DIR:=$HOME/notebooks}"
cd "$NOTEBOOK_DIR"
if [ -z "${JUPYTER_TOKEN+set}" ]; then
  if [ ! -s .token ]; then
    (umask 077 && python3 -c 'import secrets; print(secrets.token_hex(32))' > .token.new)
    mv .token.new .token
  fi
  JUPYTER_TOKEN=$(cat .token)
  export JUPYTER_TOKEN
  echo "The token is in $NOTEBOOK_DIR/.token"
fi
for directory in data log; do
  [ ! -d "/$directory" ] || ln -sfn "/$directory" "$directory"
done
[ -e in-graph-client.ipynb ] || cp /opt/tf-cluster/notebook/in-graph-client.ipynb .
if [ -n "${NOTEBOOK_CULL_SECONDS-}" ]; then
  set -- "--MappingKernelManager.cull_idle_timeout=$NOTEBOOK_CULL_SECONDS" "$@"
fi
exec jupyter lab --ip=0.0.0.0 --port=8888 --no-browser "$@"

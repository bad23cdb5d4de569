#!/usr/bin/env bash
# `make lock`: the hashed locks, NAME.txt from NAME.in. With another TensorFlow than NAME.in pins,
# `lock.sh 2.20.0`, only those of the images: NAME-2.20.0.txt, which the build takes for
# TF_VERSION=2.20.0. UV names the program uv.
set -euo pipefail
cd "$(dirname "$0")"
pinned=$(sed -nE 's/^tensorflow-cpu==//p' trainer.in)
version=${1:-$pinned}

compile() { # NAME.in, NAME.txt, and what else uv is told
  "${UV:-uv}" pip compile --quiet --universal --python-version 3.10 --generate-hashes --no-header \
    --no-emit-index-url --no-emit-find-links "$1" -o "$2" "${@:3}"
}

cpu_only=(--override overrides.txt)
if [ "$version" = "$pinned" ]; then
  compile dev.in dev.txt "${cpu_only[@]}"
  for name in trainer run build; do
    compile $name.in $name.txt "${cpu_only[@]}" -c dev.txt
  done
  compile gpu.in gpu.txt -c trainer.txt
  compile notebook.in notebook.txt "${cpu_only[@]}" -c trainer.txt
  exit
fi

# The same requirements with another TensorFlow: `==2.21.0` is its own version, `==2.21.*` that of
# TensorBoard and tf-keras, whose releases have its first two numbers.
other=$(mktemp -d)
trap 'rm -r "$other"' EXIT
for name in trainer gpu notebook; do
  sed -e "s/==${pinned//./\\.}\$/==$version/" -e "s/==${pinned%.*}\.\*\$/==${version%.*}.*/" \
    $name.in > "$other/$name.in"
done
compile "$other/trainer.in" "trainer-$version.txt" "${cpu_only[@]}" --no-annotate
compile "$other/gpu.in" "gpu-$version.txt" --no-annotate
compile "$other/notebook.in" "notebook-$version.txt" "${cpu_only[@]}" --no-annotate \
  -c "trainer-$version.txt"

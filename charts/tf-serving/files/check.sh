#!/bin/sh
# Before the server starts: the directory of each model is there, and has the versions that are asked for. A server
# whose model is not there opens no port and goes on waiting; one whose newest version is half a copy ends.
# Takes a file: a line for each model, with its name, directory, policy and versions. Ends with 1 if any is wrong.
set -eu

wrong=0

complain() { # a model's name, what is wrong
  echo "models.$1: $2" >&2
  wrong=1
}

look_at() { # a model's name, its directory, a version
  if [ ! -f "$2/$3/saved_model.pb" ]; then
    complain "$1" "$2/$3 has no saved_model.pb: it is half a copy, or no SavedModel. Copy it beside, then rename it."
  elif [ -d "$2/$3/variables" ] && [ ! -f "$2/$3/variables/variables.index" ]; then
    complain "$1" "$2/$3 has no variables/variables.index: it is half a copy. Copy it beside, then rename it. \
Of a model that has no variables, remove that directory."
  fi
}

numbers() { # of a directory's versions, the newest last
  for entry in "$1"/*/; do
    entry=${entry%/}
    case ${entry##*/} in
      *[!0-9]*) ;;
      *) echo "${entry##*/}" ;;
    esac
  done | sort -n
}

while read -r name base policy versions; do
  if [ ! -d "$base" ]; then
    complain "$name" "$base is not there. Has the training exported, and is the path right?"
    continue
  fi
  found=$(numbers "$base")
  if [ -z "$found" ]; then
    at=""
    if [ -f "$base/saved_model.pb" ]; then
      at=" It is a version itself: put it into a directory $base/1, or name the directory above it."
    fi
    complain "$name" "$base has no version: no directory whose name is a number.$at"
    continue
  fi
  case $policy in
    latest) wanted=$(echo "$found" | tail -n "$versions") ;;
    all) wanted=$found ;;
    *) wanted=$versions ;;
  esac
  for version in $wanted; do
    if [ -d "$base/$version" ]; then
      look_at "$name" "$base" "$version"
    else
      complain "$name" "$base has no version $version. It has $(echo "$found" | tr '\n' ' ' | sed 's/ $//')."
    fi
  done
done < "$1"

exit $wrong

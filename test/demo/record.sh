#!/bin/sh
# Records the profiles of the demo anew: about six minutes on a core of its own,
# longer on a busy machine.
#
# The workload is built at and run from a neutral path, because a Go profile
# names the program's file.
set -eu

cd "$(dirname "$0")"
work=/tmp/dendro-demo

rm -rf "$work"
mkdir "$work"
for program in workload recorder; do
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$work/$program" "./$program"
done
"$work/recorder" -workload "$work/workload" -sources workload -out "$work/profiles" "$@"

rm -rf ../../app/internal/demo/profiles
cp -R "$work/profiles" ../../app/internal/demo/profiles
rm -rf "$work"

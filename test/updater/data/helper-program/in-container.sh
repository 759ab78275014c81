#!/bin/sh
# in-container.sh ROOT REPOSITORY NODE VERB JSON FROM TO [FROM TO]: builds a root directory like that of a helper
# container, and runs its /tools.mjs as process 1. The caller creates the namespaces for mounts and processes.
set -eu
root=$1 repository=$2 node=$3 verb=$4 json=$5
shift 5
mount --make-rprivate /
mount -t tmpfs none "$root"
for each in usr bin sbin lib lib64 etc dev "$repository"; do
  if [ -L "/$each" ]; then cp -P "/$each" "$root/$each"; continue; fi
  [ -d "/$each" ] || continue
  mkdir -p "$root/$each"
  mount --rbind "/$each" "$root/$each"
done
# sync would wait for unrelated writes to the same disk.
mount --bind "$root/bin/true" "$root/bin/sync"
mkdir "$root/proc"
mount -t proc proc "$root/proc"
while [ $# -gt 0 ]; do
  # A mount point inside another mount already exists.
  if [ -e "$root$2" ]; then :; elif [ -d "$1" ]; then mkdir -p "$root$2"; else mkdir -p "$(dirname "$root$2")" && : >>"$root$2"; fi
  mount --bind "$1" "$root$2"
  shift 2
done
exec chroot "$root" "$node" /tools.mjs "$verb" "$json"

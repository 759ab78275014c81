"""Fills a directory with all kinds of files, owners, modes and attributes: seed-files.py DIRECTORY COUNT.

In Python, because Node cannot set extended attributes."""
import os
import struct
import sys

root, count = os.fsencode(sys.argv[1]), int(sys.argv[2])
at = lambda *names: os.path.join(root, *(os.fsencode(name) for name in names))


def put(path, content, mode=0o644, owner=(0, 0)):
    with open(path, "wb") as file:
        file.write(content)
    os.chown(path, *owner)
    os.chmod(path, mode)


def age(path, seconds, nanoseconds):
    time = seconds * 10**9 + nanoseconds
    os.utime(path, ns=(time, time), follow_symlinks=False)


def acl(*entries):
    """The kernel's form of an access list: version 2, then tag, permissions and id of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


nobody = 0xFFFFFFFF
entries = ((1, 7, nobody), (2, 5, 1001), (4, 5, nobody), (8, 6, 1002), (16, 7, nobody), (32, 0, nobody))

os.makedirs(at("live"), exist_ok=True)
os.makedirs(at("tree"))
for number in range(count):
    folder = at("tree", str(number % 50))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, b"%d.txt" % number)
    put(path, b"%d\n" % number * (number % 300), 0o600 + number % 64, (1000 + number % 5, 2000 + number % 3))
    age(path, 1_500_000_000 + number, number * 7919 % 10**9)
put(at("plain.txt"), b"plain\n", 0o4755, (1000, 1000))
put(at("tree", "no access"), b"for nobody\n", 0)
put(at("tree", "empty"), b"")
put(os.path.join(root, b"tree", b"n\xe4me\nof bytes \xff \\ '\" -rf"), b"odd name\n")
put(at("tree", "x" * 255), b"long name\n")
os.symlink("plain.txt", at("link"))
os.symlink("/nowhere/at all", at("dangling"))
os.lchown(at("dangling"), 1234, 4321)
age(at("dangling"), 1_400_000_000, 123_456_789)
os.link(at("plain.txt"), at("tree", "second name"))
os.mkfifo(at("fifo"), 0o620)
with open(at("holes"), "wb") as file:
    file.seek(8 * 1024 * 1024)
    file.write(b"end")
os.setxattr(at("plain.txt"), "user.origin", b"bytes \x00\xff")
os.setxattr(at("tree"), "user.directory", b"yes")
os.setxattr(at("plain.txt"), "system.posix_acl_access", acl(*entries))
os.makedirs(at("shared"))
os.chmod(at("shared"), 0o2770)
os.chown(at("shared"), 0, 2000)
os.setxattr(at("shared"), "system.posix_acl_default", acl(*entries))
put(at("shared", "within"), b"inherits\n")
put(at("program"), b"#!/bin/sh\n", 0o755)
os.setxattr(at("program"), "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))
put(at("leaf"), b"a leaf\n")
os.setxattr(root, "user.root", b"good")
os.setxattr(root, "system.posix_acl_default", acl(*entries))
for name in ("tree", "shared", "live"):
    age(at(name), 1_450_000_000, 5)
os.chmod(root, 0o3775)
os.chown(root, 1000, 2000)
age(root, 1_450_000_001, 7)

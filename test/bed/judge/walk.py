"""Tells a tree as it is, as JSON by path: walk.py DIRECTORY. Not of the product's own making, and by none of its programs."""
import hashlib
import json
import os
import stat
import sys

kinds = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


def tell(path, name, first):
    found = os.lstat(path)
    kind = kinds[stat.S_IFMT(found.st_mode)]
    told = {
        "kind": kind,
        "mode": oct(stat.S_IMODE(found.st_mode)),
        "owner": f"{found.st_uid}:{found.st_gid}",
        "time": str(found.st_mtime_ns),
        "attributes": {
            each: os.getxattr(path, each, follow_symlinks=False).hex()
            for each in sorted(os.listxattr(path, follow_symlinks=False))
        },
    }
    if kind == "link":
        told["to"] = text(os.readlink(path))
    if kind == "device":
        told["device"] = found.st_rdev
    if kind == "file":
        with open(path, "rb") as file:
            told["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
        told["size"] = found.st_size
        told["holes"] = found.st_blocks * 512 + 65536 < found.st_size
        if found.st_nlink > 1:
            told["same"] = first.setdefault(found.st_ino, name)
    return told


def text(path):
    return path.decode("utf-8", "backslashreplace")


def walk(root):
    first = {}
    tree = {".": tell(root, ".", first)}
    for folder, folders, files in os.walk(root):
        folders.sort()
        for each in sorted(folders + files):
            path = os.path.join(folder, each)
            name = text(os.path.relpath(path, root))
            tree[name] = tell(path, name, first)
    return tree


json.dump(walk(os.fsencode(sys.argv[1])), sys.stdout)

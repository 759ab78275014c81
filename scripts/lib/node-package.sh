# shellcheck shell=bash
# Sourced after env.sh: Node for another machine than this one.

# unpack_node ARCH FOLDER: npm's package of Node for Linux on x64 or arm64, of the version and with the hash that the lock file has.
unpack_node() {
  local package=node-linux-$1 folder=$2 version integrity packed
  read -r version integrity < <(
    node -p 'const { version, integrity } = require(process.argv[1]).packages[`node_modules/${process.argv[2]}`]; `${version} ${integrity}`' \
      "$ROOT/package-lock.json" "$package"
  )
  packed=$(npm pack --json --pack-destination "$folder" "$package@$version")
  [[ $packed == *"\"$integrity\""* ]] || die "npm has another $package@$version than package-lock.json says"
  tar --extract --gzip --file "$folder/$package-$version.tgz" --directory "$folder" package/bin/node package/LICENSE
}

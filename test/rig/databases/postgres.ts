import { debianImage } from './debian-image.ts';

export type PostgresMajor = 15 | 17;

/** The Debian release with that version, and the names of libraries that differ. */
const suites = {
  15: {
    suite: 'bookworm',
    own: 'libicu72 libldap-2.5-0 libreadline8 libssl3 libgnutls30 libhogweed6 libnettle8 libunistring2',
  },
  17: {
    suite: 'trixie',
    own: 'libicu76 libldap2 libreadline8t64 libssl3t64 libgnutls30t64 libhogweed6t64 libnettle8t64 libunistring5',
  },
} as const;

/** Without the compiler for large queries. */
const libraries = `libaudit1 libc-bin libc6 libcap-ng0 libcap2 libcom-err2 libffi8 libgcc-s1 libgcrypt20 libgmp10 libgpg-error0
  libgssapi-krb5-2 libidn2-0 libk5crypto3 libkeyutils1 libkrb5-3 libkrb5support0 liblz4-1 liblzma5 libp11-kit0 libpam0g
  libpcre2-8-0 libpq5 libsasl2-2 libselinux1 libstdc++6 libsystemd0 libtasn1-6 libtinfo6 libuuid1 libxml2 libxslt1.1 libxxhash0 tzdata
  libzstd1 zlib1g`;

export const postgresImage = (major: PostgresMajor): Promise<string> =>
  debianImage({
    name: `postgres:${major}`,
    suite: suites[major].suite,
    packages: `postgresql-${major} postgresql-client-${major} ${suites[major].own} ${libraries}`,
    entry: 'postgres-entry.sh',
    prepare: `mkdir -p "$root"/var/lib/postgresql/data; rm -rf "$root"/usr/lib/postgresql/*/lib/{bitcode,llvmjit*}
      for file in "$root"/usr/lib/postgresql/*/bin/*; do ln -sf "\${file#"$root"}" "$root/usr/bin/\${file##*/}"; done`,
    user: 'postgres',
    changes: [
      ...['ENV PATH=/usr/bin:/bin', 'ENV PGDATA=/var/lib/postgresql/data', 'ENV LANG=C.UTF-8'],
      ...['VOLUME /var/lib/postgresql/data', 'STOPSIGNAL SIGINT', 'EXPOSE 5432', 'CMD ["postgres"]'],
    ],
  });

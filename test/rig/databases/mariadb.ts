import { debianImage } from './debian-image.ts';

/** MariaDB 10.11. */
export const mariadbImage = (): Promise<string> =>
  debianImage({
    name: 'mariadb:10.11',
    suite: 'bookworm',
    packages: `mariadb-server-core mariadb-client-core mariadb-client libmariadb3 libaio1 libbsd0 libc6 libcap2 libcrypt1 libedit2 libgcc-s1
      libgcrypt20 libgpg-error0 liblz4-1 liblzma5 libmd0 libncurses6 libnuma1 libpcre2-8-0 libssl3 libstdc++6 libsystemd0 libtinfo6 liburing2
      libzstd1 zlib1g`,
    entry: 'mariadb-entry.sh',
    prepare: 'mkdir -p "$root"/{run/mysqld,usr/lib/mysql/plugin,var/lib/mysql}; rm -rf "$root/etc/mysql"',
    user: 'mysql',
    changes: [
      ...['ENV PATH=/usr/sbin:/usr/bin:/bin', 'ENV LANG=C.UTF-8'],
      ...['VOLUME /var/lib/mysql', 'EXPOSE 3306', 'CMD ["mariadbd"]'],
    ],
  });

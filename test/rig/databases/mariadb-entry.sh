#!/bin/sh
# As the public image of MariaDB begins: the same variables (MYSQL_… too), the same folder, root by its password.
set -e
data=/var/lib/mysql
as() { start-stop-daemon --start --chuid mysql --exec "$@"; }
# What a variable says, by either name, or the file that it names.
said() { eval "printf %s \"\${MARIADB_$1:-\$MYSQL_$1}\"" && eval "file=\${MARIADB_$1_FILE:-\$MYSQL_$1_FILE}" && { [ -z "$file" ] || cat "$file"; }; }
quoted() { said "$1" | sed "s/\\\\/\\\\\\\\/g; s/'/''/g; 1s/^/'/; \$s/\$/'/"; }

[ "$1" != mariadbd ] || shift
mkdir -p "$data" /run/mysqld
chown -R mysql "$data" /run/mysqld
if [ ! -d "$data/mysql" ]; then
  scripts=/usr/share/mysql
  root=$(quoted ROOT_PASSWORD) name=$(said DATABASE) user=$(quoted USER) password=$(quoted PASSWORD)
  {
    # A line has no more than one statement here.
    printf '%s\n' 'CREATE DATABASE mysql;' 'USE mysql;' 'SET @auth_root_socket=NULL;'
    cat $scripts/mysql_system_tables.sql $scripts/mysql_performance_tables.sql $scripts/mysql_system_tables_data.sql \
      $scripts/maria_add_gis_sp_bootstrap.sql $scripts/mysql_sys_schema.sql
    printf '%s\n' 'USE mysql;' "DELETE FROM global_priv WHERE Host <> 'localhost' OR User = '';" 'FLUSH PRIVILEGES;'
    if [ -n "$root" ]; then
      echo "ALTER USER root@localhost IDENTIFIED BY $root;"
      echo "CREATE USER root@'%' IDENTIFIED BY $root;"
      echo "GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;"
    else
      echo 'ALTER USER root@localhost IDENTIFIED VIA unix_socket;'
    fi
    [ -z "$name" ] || echo "CREATE DATABASE \`$name\`;"
    [ -z "$user" ] || echo "CREATE USER $user@'%' IDENTIFIED BY $password;"
    [ -z "$name" ] || [ -z "$user" ] || echo "GRANT ALL ON \`$name\`.* TO $user@'%';"
  } >/tmp/first.sql
  # Moved into place when it is whole, so that a start that was killed is made good by the next one.
  rm -rf "$data/.first" && mkdir "$data/.first" && chown mysql "$data/.first"
  as /usr/sbin/mariadbd -- --no-defaults --bootstrap --datadir="$data/.first" --log-warnings=0 </tmp/first.sql
  rm /tmp/first.sql
  mv "$data"/.first/[!m]* "$data/" && mv "$data"/.first/m* "$data/" && rm -rf "$data/.first"
fi
exec start-stop-daemon --start --chuid mysql --exec /usr/sbin/mariadbd -- --datadir="$data" --socket=/run/mysqld/mysqld.sock \
  --skip-name-resolve --bind-address=0.0.0.0 "$@"

import { debianImage } from './debian-image.ts';

/** OpenLDAP 2.5 with its configuration in the database, and an LMDB file of 1 GB that is mostly sparse. */
export const openldapImage = (): Promise<string> =>
  debianImage({
    name: 'openldap:2.5',
    suite: 'bookworm',
    packages: `slapd ldap-utils libargon2-1 libc6 libcrypt1 libcom-err2 libdb5.3 libffi8 libgmp10 libgnutls30 libgssapi-krb5-2 libhogweed6 libidn2-0
      libk5crypto3 libkeyutils1 libkrb5-3 libkrb5support0 libldap-2.5-0 libltdl7 libnettle8 libnsl2 libodbc2 libp11-kit0 libperl5.36 libsasl2-2
      libsasl2-modules-db libssl3 libtasn1-6 libtirpc3 libunistring2 libwrap0 zlib1g`,
    entry: 'openldap-entry.sh',
    prepare: 'mkdir -p "$root"/var/lib/ldap',
    user: 'openldap',
    changes: ['ENV PATH=/usr/sbin:/usr/bin:/bin', 'VOLUME /var/lib/ldap', 'EXPOSE 389', 'CMD ["slapd"]'],
  });

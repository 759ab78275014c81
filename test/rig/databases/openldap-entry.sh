#!/bin/sh
# Starts slapd on /var/lib/ldap, which contains data and configuration.
set -e
data=/var/lib/ldap
mkdir -p /var/run/slapd $data
if [ ! -d $data/config ]; then
  rm -rf $data/first $data/data
  mkdir -p $data/first $data/data
  secret=$(slappasswd -s "${LDAP_PASSWORD:?}")
  slapadd -F $data/first -n 0 <<LDIF
dn: cn=config
objectClass: olcGlobal
cn: config
olcPidFile: /var/run/slapd/slapd.pid

dn: cn=module{0},cn=config
objectClass: olcModuleList
cn: module{0}
olcModulePath: /usr/lib/ldap
olcModuleLoad: back_mdb.so

dn: cn=schema,cn=config
objectClass: olcSchemaConfig
cn: schema

include: file:///etc/ldap/schema/core.ldif

include: file:///etc/ldap/schema/cosine.ldif

include: file:///etc/ldap/schema/inetorgperson.ldif

dn: olcDatabase={0}config,cn=config
objectClass: olcDatabaseConfig
olcDatabase: {0}config
olcRootDN: cn=admin,cn=config
olcRootPW: $secret

dn: olcDatabase={1}mdb,cn=config
objectClass: olcDatabaseConfig
objectClass: olcMdbConfig
olcDatabase: {1}mdb
olcSuffix: dc=svc
olcRootDN: cn=admin,dc=svc
olcRootPW: $secret
olcDbDirectory: $data/data
olcDbMaxSize: 1073741824
olcDbIndex: objectClass eq
LDIF
  mv $data/first $data/config
fi
chown -R openldap $data /var/run/slapd
exec slapd -d stats2 -u openldap -g openldap -F $data/config -h 'ldap:/// ldapi:///'

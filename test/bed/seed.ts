import type { DatabaseKind } from './app/database.ts';

/** The data before the first update, in the language of each database. */
export const seeds: Record<DatabaseKind, string> = {
  postgres: `
CREATE ROLE readers;
CREATE ROLE reporter LOGIN PASSWORD 'of the reporter' CONNECTION LIMIT 5;
GRANT readers TO reporter;
CREATE TABLE live (id bigserial PRIMARY KEY, boot text NOT NULL, n integer NOT NULL);
CREATE TABLE tally (boot text PRIMARY KEY, n integer NOT NULL);
CREATE TABLE customers (id serial PRIMARY KEY, name text NOT NULL, email text UNIQUE, note text, balance numeric(12,2) DEFAULT 0);
CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer integer REFERENCES customers, amount numeric(12,2), detail text);
CREATE TABLE papers (id integer PRIMARY KEY, body bytea);
INSERT INTO customers (name, email, note) SELECT 'customer ' || n, n || '@example.org', repeat('é', n % 20) FROM generate_series(1, 2000) n;
INSERT INTO orders (customer, amount, detail) SELECT 1 + n % 2000, n / 7.0, md5(n::text) FROM generate_series(1, 20000) n;
INSERT INTO papers SELECT n, decode(md5(n::text), 'hex') FROM generate_series(1, 500) n;
CREATE INDEX orders_customer ON orders (customer);
CREATE VIEW debts AS SELECT c.name, c.email, sum(o.amount) AS owed FROM customers c JOIN orders o ON o.customer = c.id GROUP BY c.id;
CREATE MATERIALIZED VIEW totals AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer;
CREATE SEQUENCE invoices START 1000 INCREMENT 5;
SELECT nextval('invoices'), nextval('invoices');
CREATE FUNCTION note_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := coalesce(NEW.note, 'none'); RETURN NEW; END $$;
CREATE TRIGGER noted BEFORE INSERT ON customers FOR EACH ROW EXECUTE FUNCTION note_it();
CREATE SCHEMA archive;
CREATE TABLE archive.orders AS SELECT * FROM orders WHERE id <= 1000;
SELECT lo_from_bytea(0, decode(repeat('00ff', 3000), 'hex'));
GRANT SELECT ON customers, orders TO readers;
GRANT CONNECT ON DATABASE svc TO reporter;
ALTER ROLE reporter IN DATABASE svc SET statement_timeout = '5s';
ALTER DATABASE svc SET work_mem = '8MB';
ALTER DATABASE svc CONNECTION LIMIT 60;
COMMENT ON DATABASE svc IS 'all that svc keeps';
CREATE DATABASE reports OWNER reporter;
`,
  mariadb: `
SET NAMES utf8mb4;
ALTER DATABASE svc CHARACTER SET utf8mb4;
CREATE TABLE live (id bigint AUTO_INCREMENT PRIMARY KEY, boot varchar(60) NOT NULL, n integer NOT NULL);
CREATE TABLE tally (boot varchar(60) PRIMARY KEY, n integer NOT NULL);
CREATE TABLE customers (id integer AUTO_INCREMENT PRIMARY KEY, name text NOT NULL, email varchar(100) UNIQUE, note text, balance decimal(12,2) DEFAULT 0,
  shown varchar(30) AS (concat('#', id)) VIRTUAL);
CREATE TABLE orders (id bigint AUTO_INCREMENT PRIMARY KEY, customer integer, amount decimal(12,2), detail text, FOREIGN KEY (customer) REFERENCES customers (id));
CREATE TABLE papers (id integer PRIMARY KEY, body blob);
INSERT INTO customers (name, email, note) WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1000)
  SELECT concat('customer ', n), concat(n, '@example.org'), repeat('é', n % 20) FROM s;
INSERT INTO customers (name, email, note) SELECT concat('further ', id), concat('further', id, '@example.org'), note FROM customers;
INSERT INTO orders (customer, amount, detail) SELECT a.id, a.id * b.id / 7, md5(concat(a.id, '-', b.id)) FROM customers a JOIN (SELECT id FROM customers ORDER BY id LIMIT 10) b;
INSERT INTO papers SELECT id, unhex(md5(id)) FROM customers ORDER BY id LIMIT 500;
CREATE VIEW debts AS SELECT c.name, c.email, sum(o.amount) AS owed FROM customers c JOIN orders o ON o.customer = c.id GROUP BY c.id;
CREATE SEQUENCE invoices START WITH 1000 INCREMENT BY 5 NOCACHE;
SELECT nextval(invoices);
CREATE TRIGGER noted BEFORE INSERT ON customers FOR EACH ROW SET NEW.note = coalesce(NEW.note, 'none');
CREATE PROCEDURE owing (IN who integer) SELECT sum(amount) FROM orders WHERE customer = who;
CREATE EVENT tidy ON SCHEDULE EVERY 1 YEAR STARTS '2030-01-01 00:00:00' DO DELETE FROM papers WHERE id < 0;
CREATE DATABASE reports CHARACTER SET latin1;
CREATE TABLE reports.lines (id integer PRIMARY KEY, text text) ENGINE = Aria;
INSERT INTO reports.lines VALUES (1, 'first'), (2, 'second');
CREATE USER reporter@'%' IDENTIFIED BY 'of the reporter';
GRANT SELECT ON svc.customers TO reporter@'%';
GRANT SELECT (id, amount) ON svc.orders TO reporter@'%';
CREATE ROLE readers;
GRANT SELECT ON reports.* TO readers;
GRANT readers TO reporter@'%';
`,
  sqlite: `
PRAGMA journal_mode = WAL;
PRAGMA user_version = 12;
CREATE TABLE live (id integer PRIMARY KEY AUTOINCREMENT, boot text NOT NULL, n integer NOT NULL);
CREATE TABLE tally (boot text PRIMARY KEY, n integer NOT NULL);
CREATE TABLE customers (id integer PRIMARY KEY AUTOINCREMENT, name text NOT NULL, email text, note text, balance numeric DEFAULT 0);
CREATE TABLE orders (id integer PRIMARY KEY AUTOINCREMENT, customer integer REFERENCES customers, amount numeric, detail text);
CREATE TABLE papers (id integer PRIMARY KEY, body blob);
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 2000)
  INSERT INTO customers (name, email, note) SELECT 'customer ' || n, n || '@example.org', substr('éééééééééééééééééééé', 1, n % 20) FROM s;
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 20000)
  INSERT INTO orders (customer, amount, detail) SELECT 1 + n % 2000, n / 7.0, hex(n) FROM s;
WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 500) INSERT INTO papers SELECT n, zeroblob(n) FROM s;
CREATE INDEX orders_customer ON orders (customer);
CREATE VIEW debts AS SELECT c.name, sum(o.amount) AS owed FROM customers c JOIN orders o ON o.customer = c.id GROUP BY c.id;
`,
  redis: `EVAL "for n=1,2000 do redis.call('HSET','customer:'..n,'name','customer '..n,'note',string.rep('x',n%200)) end" 0
EVAL "for n=1,20000 do redis.call('ZADD','orders',n/7,'order '..n) end" 0
EVAL "for n=1,500 do redis.call('SADD','papers',redis.sha1hex(n)) end" 0
EVAL "for n=1,500 do redis.call('XADD','events','1-'..n,'n',n) end" 0
SET later soon PXAT 4102444800000
SELECT 3
SET elsewhere kept
FUNCTION LOAD "#!lua name=tools\\nredis.register_function('one', function() return 1 end)"
ACL SETUSER reporter on >secret ~customer:* +@read
CONFIG SET maxmemory-policy noeviction
CONFIG REWRITE
BGREWRITEAOF
`,
  openldap: `dn: dc=svc
objectClass: dcObject
objectClass: organization
o: svc
dc: svc

dn: ou=live,dc=svc
objectClass: organizationalUnit

dn: ou=people,dc=svc
objectClass: organizationalUnit

${Array.from(
  { length: 400 },
  (_, at) => `dn: cn=customer ${at + 1},ou=people,dc=svc
objectClass: inetOrgPerson
sn: ${at + 1}
mail: ${at + 1}@example.org
userPassword: secret
description: ${'x'.repeat(at % 300)}y
`,
).join('\n')}`,
};

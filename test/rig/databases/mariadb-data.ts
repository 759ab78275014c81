/** Everything that a schema may have, and what must not break a name. */
export const everything = String.raw`
SET GLOBAL event_scheduler = ON;
CREATE DATABASE old CHARACTER SET latin1 COLLATE latin1_german1_ci;
CREATE DATABASE ${'`'}-x ${'``'}$(id) '"; \\ é${'`'} CHARACTER SET utf8mb4;
CREATE TABLE ${'`'}-x ${'``'}$(id) '"; \\ é${'`'}.${'`'}a.b${'``'}'"c${'`'} (${'`'}x y${'`'} INT PRIMARY KEY);
INSERT INTO ${'`'}-x ${'``'}$(id) '"; \\ é${'`'}.${'`'}a.b${'``'}'"c${'`'} VALUES (1), (2);
USE old;
CREATE TABLE words (id INT AUTO_INCREMENT PRIMARY KEY, word VARCHAR(40)) ENGINE=Aria;
INSERT INTO words (word) VALUES (_utf8mb4'Größe'), (_utf8mb4'naïve');
DELETE FROM words WHERE id = 2;
CREATE TABLE loose (a INT, b TEXT) ENGINE=MyISAM;
INSERT INTO loose VALUES (2, 'second'), (1, NULL), (2, 'second');
ALTER DATABASE svc CHARACTER SET utf8mb4;
USE svc;
CREATE TABLE people (
  id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, name VARCHAR(80) NOT NULL, born DATE, at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  weight DOUBLE, share DECIMAL(20, 9), flags BIT(12), settings JSON, picture LONGBLOB, uid UUID,
  shown VARCHAR(100) AS (CONCAT(name, '!')) STORED, half DOUBLE AS (weight / 2) VIRTUAL,
  UNIQUE KEY (name), CHECK (weight > 0)
) AUTO_INCREMENT = 1000;
INSERT INTO people (name, born, weight, share, flags, settings, picture, uid) VALUES
  ('Zoë 🦊', '0000-00-00', 0.1, 1.123456789, b'101', '{"a": "\\n\'\\""}', X'00ff0a0d5c27', UUID());
INSERT INTO people (name, weight, picture) SELECT CONCAT('n', seq), seq / 7, REPEAT(CHAR(seq % 256), 1 + seq % 900) FROM seq_1_to_3000;
CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, who BIGINT UNSIGNED NOT NULL, total DECIMAL(10, 2),
  FOREIGN KEY (who) REFERENCES people (id) ON DELETE CASCADE) ROW_FORMAT = COMPRESSED;
INSERT INTO orders (who, total) SELECT id, id / 3 FROM people WHERE id % 3 = 0;
CREATE TABLE parted (id INT, d INT, PRIMARY KEY (id, d)) PARTITION BY RANGE (d) (PARTITION a VALUES LESS THAN (10), PARTITION b VALUES LESS THAN MAXVALUE);
INSERT INTO parted SELECT seq, seq % 20 FROM seq_1_to_100;
CREATE TABLE kept (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
INSERT INTO kept VALUES (1, 1), (2, 2);
UPDATE kept SET v = 3 WHERE id = 1;
DELETE FROM kept WHERE id = 2;
CREATE TABLE big (id INT PRIMARY KEY, bytes LONGBLOB);
INSERT INTO big VALUES (1, REPEAT(X'27005c', 4000000));
CREATE SEQUENCE tickets START WITH 7 INCREMENT BY 3 CACHE 5;
SELECT NEXT VALUE FOR tickets, NEXT VALUE FOR tickets;
CREATE TABLE audit (id INT AUTO_INCREMENT PRIMARY KEY, what TEXT);
CREATE USER clerk@'%' IDENTIFIED BY 'clerk';
CREATE USER 'o''dd"\\'@'10.%' IDENTIFIED BY 'odd' ACCOUNT LOCK;
CREATE USER idle@localhost IDENTIFIED BY 'idle';
CREATE ROLE reader;
GRANT SELECT ON svc.* TO reader;
GRANT reader TO clerk@'%';
GRANT SELECT, UPDATE, TRIGGER ON svc.* TO clerk@'%';
SET DEFAULT ROLE reader FOR clerk@'%';
GRANT SELECT (name), UPDATE (born) ON svc.people TO idle@localhost;
CREATE DEFINER = clerk@'%' SQL SECURITY DEFINER VIEW names AS SELECT id, name FROM people;
CREATE VIEW more AS SELECT n.name, o.total FROM names n JOIN orders o ON o.who = n.id;
DELIMITER ;;
CREATE DEFINER = clerk@'%' TRIGGER first BEFORE INSERT ON orders FOR EACH ROW SET NEW.total = COALESCE(NEW.total, 1);;
CREATE TRIGGER second AFTER INSERT ON orders FOR EACH ROW BEGIN INSERT INTO audit (what) VALUES (CONCAT('order ', NEW.id)); END;;
CREATE PROCEDURE close_all(IN n INT) BEGIN DECLARE i INT DEFAULT 0; WHILE i < n DO SET i = i + 1; END WHILE; END;;
CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN 2 * n;;
CREATE EVENT tick ON SCHEDULE EVERY 1 SECOND DISABLE DO INSERT INTO audit (what) VALUES ('tick');;
SET sql_mode = ORACLE;;
CREATE PACKAGE tools AS FUNCTION one RETURN INT; END;;
CREATE PACKAGE BODY tools AS FUNCTION one RETURN INT AS BEGIN RETURN 1; END; END;;
SET sql_mode = DEFAULT;;
DELIMITER ;
GRANT EXECUTE ON PROCEDURE svc.close_all TO idle@localhost;
`;

/** What a bad release may have done. */
export const badRelease = String.raw`
USE svc;
ALTER TABLE people DROP COLUMN settings, ADD COLUMN fresh INT DEFAULT 4;
DELETE FROM orders LIMIT 100;
INSERT INTO orders (who, total) SELECT id, 5 FROM people WHERE id % 5 = 0;
SELECT NEXT VALUE FOR tickets;
DROP TABLE parted, big;
DROP VIEW more, names;
DROP PROCEDURE close_all;
DROP DATABASE old;
CREATE DATABASE added;
CREATE TABLE added.t (a INT);
INSERT INTO added.t VALUES (1);
DROP USER clerk@'%';
DROP ROLE reader;
CREATE USER intruder@'%' IDENTIFIED BY 'in';
GRANT ALL ON *.* TO intruder@'%';
ALTER USER svc@'%' IDENTIFIED BY 'other';
ALTER USER idle@localhost IDENTIFIED BY 'other' ACCOUNT LOCK;
ALTER USER 'o''dd"\\'@'10.%' ACCOUNT UNLOCK;
`;

-- Liquibase 4.28.0 (the jars of the npm package liquibase 4.28.1) in PostgreSQL 15.
-- DDL and rows as pg_dump gives them; lockedby had a host name and an address.
CREATE TABLE databasechangelog (
    id character varying(255) NOT NULL,
    author character varying(255) NOT NULL,
    filename character varying(255) NOT NULL,
    dateexecuted timestamp without time zone NOT NULL,
    orderexecuted integer NOT NULL,
    exectype character varying(10) NOT NULL,
    md5sum character varying(35),
    description character varying(255),
    comments character varying(255),
    tag character varying(255),
    liquibase character varying(20),
    contexts character varying(255),
    labels character varying(255),
    deployment_id character varying(10)
);
CREATE TABLE databasechangeloglock (
    id integer NOT NULL PRIMARY KEY,
    locked boolean NOT NULL,
    lockgranted timestamp without time zone,
    lockedby character varying(255)
);

-- == history
-- liquibase update --changelog-file=changelog.sql, two times, with the change sets
--   ada:create-orders           create table orders (id int);
--   ada:refresh-view            runAlways:true, create or replace view open_orders as select * from orders;
--   grace:create-orders-again   --preconditions onFail:MARK_RAN, that there is no table orders
--   grace:continue              --preconditions onFail:CONTINUE, the same: SKIPPED, which leaves no row
--   grace:ignored               failOnError:false, insert into missing values (1); FAILED, which leaves no row
--   grace:index                 runInTransaction:false, create index concurrently orders_id on orders (id);
-- liquibase update --changelog-file=changelog2.sql, with
--   grace:create-orders         select 1;
-- liquibase update --changelog-file=fails.sql, with
--   grace:fails                 create table f (id int); insert into missing values (1); leaves no row
-- liquibase tag --tag=v1
-- liquibase changelog-sync --changelog-file=synced.sql, which runs nothing, with
--   grace:synced                create table synced (id int);
INSERT INTO databasechangelog VALUES ('create-orders', 'ada', 'changelog.sql', '2026-11-30 00:59:46.956177', 1, 'EXECUTED', '9:0be03f006ee8f760ee9378fb6503498f', 'sql', '', NULL, '4.28.0', NULL, NULL, '6000386930');
INSERT INTO databasechangelog VALUES ('create-orders-again', 'grace', 'changelog.sql', '2026-11-30 00:59:46.966437', 3, 'MARK_RAN', '9:0be03f006ee8f760ee9378fb6503498f', 'sql', '', NULL, '4.28.0', NULL, NULL, '6000386930');
INSERT INTO databasechangelog VALUES ('index', 'grace', 'changelog.sql', '2026-11-30 00:59:46.973631', 4, 'EXECUTED', '9:7027be85ba2b94a5fd231d781de003ff', 'sql', '', NULL, '4.28.0', NULL, NULL, '6000386930');
INSERT INTO databasechangelog VALUES ('refresh-view', 'ada', 'changelog.sql', '2026-11-30 00:59:48.365099', 5, 'RERAN', '9:4dbed5c6bc006c2d6ee0e31feae13648', 'sql', '', NULL, '4.28.0', NULL, NULL, '6000388346');
INSERT INTO databasechangelog VALUES ('create-orders', 'grace', 'changelog2.sql', '2026-11-30 00:59:49.737138', 6, 'EXECUTED', '9:a7ca957848b7a2d82c733ec390529b49', 'sql', '', 'v1', '4.28.0', NULL, NULL, '6000389716');
INSERT INTO databasechangelog VALUES ('synced', 'grace', 'synced.sql', '2026-11-30 00:59:57.105589', 7, 'EXECUTED', '9:5e896981a394be755c16f943251142c3', 'sql', '', NULL, '4.28.0', NULL, NULL, '6000397108');

-- == free
-- What update leaves when it ends.
INSERT INTO databasechangeloglock VALUES (1, false, NULL, NULL);

-- == held
-- liquibase update --changelog-file=killed.sql, killed (kill -9) in
--   grace:killed                create table k (id int); select pg_sleep(300);
INSERT INTO databasechangeloglock VALUES (1, true, '2026-11-30 01:00:00.220263', 'job (192.0.2.1)');

-- golang-migrate v4.20.1 (database/pgx/v5), by tools/migrations. The statement is its own;
-- each section is the whole table after one command.
CREATE TABLE schema_migrations (version bigint not null primary key, dirty boolean not null);

-- == clean
-- migrations golang-migrate DSN FOLDER up, with 000001_init and 000002_second
INSERT INTO schema_migrations (version, dirty) VALUES (2, false);

-- == dirty
-- up, with 000003_fails: insert into missing values (1); the same while it runs, and after kill -9
INSERT INTO schema_migrations (version, dirty) VALUES (3, true);

-- == undoing
-- down 1 from version 1, with 000001_init.down.sql: drop table missing;
INSERT INTO schema_migrations (version, dirty) VALUES (-1, true);

-- == empty
-- down 1 from version 1: no row is left

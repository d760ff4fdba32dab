-- Atlas, the community version v1.2.3 (cmd/atlas at a5e0aecc, built from its source), in
-- PostgreSQL 15. DDL and rows as pg_dump gives them.
CREATE TABLE atlas_schema_revisions (
    version character varying NOT NULL PRIMARY KEY,
    description character varying NOT NULL,
    type bigint DEFAULT 2 NOT NULL,
    applied bigint DEFAULT 0 NOT NULL,
    total bigint DEFAULT 0 NOT NULL,
    executed_at timestamp with time zone NOT NULL,
    execution_time bigint NOT NULL,
    error text,
    error_stmt text,
    hash character varying NOT NULL,
    partial_hashes jsonb,
    operator_version character varying NOT NULL
);

-- == history
-- atlas migrate apply --tx-mode file, with
--   20260101000001_init.sql         two statements
-- atlas migrate apply --tx-mode none, with
--   20260101000002_fails.sql        three statements, the second fails
-- atlas migrate set 20260101000002
-- atlas migrate set 20260101000003, with
--   20260101000003_set.sql          never run
-- atlas migrate apply --tx-mode none, two times, with
--   20260101000004_fails_again.sql  two statements, the second fails at first and was changed
-- atlas migrate apply --tx-mode none, killed (kill -9) in the second statement of
--   20260101000005_killed.sql       three statements, the second is select pg_sleep(300);
-- A file that fails with --tx-mode file, the default, leaves no row.
INSERT INTO atlas_schema_revisions VALUES ('20260101000001', 'init', 2, 2, 2, '2026-11-30 00:57:17.394796+00', 214330, '', '', 'Oup3/JQANcbLqSP+c8nsvS0XSXyerNNmT5Iq4EUvxi8=', 'null', 'Atlas CLI v1.2.3');
INSERT INTO atlas_schema_revisions VALUES ('20260101000002', 'fails', 6, 1, 3, '2026-11-30 00:57:17.461567+00', 568298, 'pq: relation "missing" does not exist at column 13 (42P01)', 'insert into missing values (1);', 'VRtq7FHrZrxGWu5URe36VmMrBPLWb1s4h2WpWSyHgCs=', '["h1:ZvmIpVU/DjA1A3MP7TLH2scWHCggf7whlV59yuuEeoU="]', 'Atlas CLI v1.2.3');
INSERT INTO atlas_schema_revisions VALUES ('20260101000003', 'set', 4, 0, 0, '2026-11-30 00:57:17.646255+00', 0, '', '', 'zu3Wat3KLS90ujdFTLBs+KaXueXMaVI9404N5Y0x3jA=', 'null', 'Atlas CLI v1.2.3');
INSERT INTO atlas_schema_revisions VALUES ('20260101000004', 'fails_again', 2, 2, 2, '2026-11-30 00:57:17.719828+00', 414098, '', '', 'GMlUaaanbYvgZ+h7UKNhLyIBbL0G0n9JjBnblS9t5tE=', 'null', 'Atlas CLI v1.2.3');
INSERT INTO atlas_schema_revisions VALUES ('20260101000005', 'killed', 2, 1, 3, '2026-11-30 00:57:17.962845+00', 0, '', '', 'mp45lUPweVKpMZDUUZNGVyXdKJWftpukmZ7JAKvHJrE=', '["h1:YJLKcUxv0CG9QQmyMz9uHrX6XTYsiMocHY7HYtbqZ6c="]', 'Atlas CLI v1.2.3');

-- == cloud
-- Not run: EntRevisions.ID in cmd/atlas/internal/migrate/migrate.go, for who is logged in
-- to Atlas Cloud.
INSERT INTO atlas_schema_revisions VALUES ('.atlas_cloud_identifier', '6a5a1b0e-6f0c-4a53-9d0e-1c9f4f1f3f9b', 2, 0, 0, '2026-11-30 00:57:17+00', 0, NULL, NULL, '', NULL, 'Atlas CLI v1.2.3');

-- == failed
-- The table's last row after the first of the two runs of 20260101000004.
INSERT INTO atlas_schema_revisions VALUES ('20260101000004', 'fails_again', 2, 1, 2, '2026-11-30 00:57:17.719828+00', 426766, 'pq: relation "missing" does not exist at column 13 (42P01)', 'insert into missing values (1);', 'GMlUaaanbYvgZ+h7UKNhLyIBbL0G0n9JjBnblS9t5tE=', '["h1:6vLD47CHoeBOc141yy4cHZnD7uhS0NGgIbdzhexErxA="]', 'Atlas CLI v1.2.3');

-- == baseline
-- atlas migrate apply --baseline 20250101000000, with a search_path in the URL, so that the
-- table is in that schema, and 20240101000000_older.sql, 20250101000000_old.sql and
-- 20260101000000_new.sql
INSERT INTO atlas_schema_revisions VALUES ('20250101000000', 'old', 1, 0, 0, '2026-11-30 00:57:21.217659+00', 0, '', '', '', 'null', 'Atlas CLI v1.2.3');
INSERT INTO atlas_schema_revisions VALUES ('20260101000000', 'new', 2, 1, 1, '2026-11-30 00:57:21.219308+00', 253868, '', '', '8IesVTBO0nyHqWorNjMnMDLJ5FysjckY16AAOMPiTRE=', 'null', 'Atlas CLI v1.2.3');

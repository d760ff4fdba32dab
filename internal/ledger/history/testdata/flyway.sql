-- Flyway 13.0.0, not run but taken from its source (flyway/flyway at c5e20fc7): the table
-- is that of PostgreSQLDatabase.getRawCreateScript, the rows are those that
-- Database.getBaselineStatement, getInsertStatement and JdbcTableSchemaHistory.delete
-- write. Checksums, times and names of scripts are made up. The types UNDO_SQL and
-- UNDO_JDBC are of the edition that is not open; the documentation and the release notes
-- name them.
CREATE TABLE flyway_schema_history (
    "installed_rank" INT NOT NULL,
    "version" VARCHAR(50),
    "description" VARCHAR(200) NOT NULL,
    "type" VARCHAR(20) NOT NULL,
    "script" VARCHAR(1000) NOT NULL,
    "checksum" INTEGER,
    "installed_by" VARCHAR(100) NOT NULL,
    "installed_on" TIMESTAMP NOT NULL DEFAULT now(),
    "execution_time" INTEGER NOT NULL,
    "success" BOOLEAN NOT NULL
);
ALTER TABLE flyway_schema_history ADD CONSTRAINT "flyway_schema_history_pk" PRIMARY KEY ("installed_rank");
CREATE INDEX "flyway_schema_history_s_idx" ON flyway_schema_history ("success");

-- == history
-- migrate made the schema and applied V1; V2 was undone and applied again; V3 was undone;
-- undoing V4 failed outside a transaction; a repeatable script ran two times; repair
-- marked V6 as deleted; V7.1 came out of order; V8 is a Java migration; V5 failed outside
-- a transaction
INSERT INTO flyway_schema_history ("installed_rank", "version", "description", "type", "script", "checksum", "installed_by", "execution_time", "success") VALUES
    (0, NULL, '<< Flyway Schema Creation >>', 'SCHEMA', '"app"', NULL, 'migrator', 0, true),
    (1, '1', 'init', 'SQL', 'V1__init.sql', -1517829812, 'migrator', 12, true),
    (2, '2', 'orders', 'SQL', 'V2__orders.sql', 1096373042, 'migrator', 8, true),
    (3, '2', 'orders', 'UNDO_SQL', 'U2__orders.sql', -220043912, 'migrator', 5, true),
    (4, '2', 'orders', 'SQL', 'V2__orders.sql', 1096373042, 'migrator', 8, true),
    (5, '3', 'index', 'SQL', 'V3__index.sql', 777034123, 'migrator', 40, true),
    (6, '3', 'index', 'UNDO_SQL', 'U3__index.sql', 91203312, 'migrator', 5, true),
    (7, '4', 'half', 'SQL', 'V4__half.sql', 5512093, 'migrator', 40, true),
    (8, '4', 'half', 'UNDO_SQL', 'U4__half.sql', 8812093, 'migrator', 5, false),
    (9, NULL, 'open orders', 'SQL', 'R__open_orders.sql', 1234, 'migrator', 3, true),
    (10, NULL, 'open orders', 'SQL', 'R__open_orders.sql', 5678, 'migrator', 3, true),
    (11, '6', 'gone', 'SQL', 'V6__gone.sql', 6612093, 'migrator', 40, true),
    (12, '6', 'gone', 'DELETE', 'V6__gone.sql', 6612093, 'migrator', 0, true),
    (13, '007.10', 'late', 'SQL', 'V007_10__late.sql', 7712093, 'migrator', 40, true),
    (14, '7.1', 'early', 'SQL', 'V7.1__early.sql', 7712094, 'migrator', 40, true),
    (15, '8', 'Backfill', 'JDBC', 'db.migration.V8__Backfill', NULL, 'migrator', 40, true),
    (16, '5', 'concurrent index', 'SQL', 'V5__concurrent_index.sql', 5512093, 'migrator', 40, false);

-- == baseline
-- baseline, and migrate with V12
INSERT INTO flyway_schema_history ("installed_rank", "version", "description", "type", "script", "checksum", "installed_by", "execution_time", "success") VALUES
    (1, '10', '<< Flyway Baseline >>', 'BASELINE', '<< Flyway Baseline >>', NULL, 'migrator', 0, true),
    (2, '12', 'orders', 'SQL', 'V12__orders.sql', 1096373042, 'migrator', 8, true);

-- == baseline script
-- migrate of an empty database, with B5 and V6
INSERT INTO flyway_schema_history ("installed_rank", "version", "description", "type", "script", "checksum", "installed_by", "execution_time", "success") VALUES
    (1, '5', 'all', 'SQL_BASELINE', 'B5__all.sql', 55120931, 'migrator', 112, true),
    (2, '6', 'orders', 'SQL', 'V6__orders.sql', 1096373042, 'migrator', 8, true);

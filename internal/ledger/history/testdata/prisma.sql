-- Prisma 6.19.3 with its schema engine for WebAssembly (engine "js", @prisma/adapter-pg,
-- which had to be told that PostgreSQL's type name is a text), in PostgreSQL 15. DDL and
-- rows as pg_dump gives them.
CREATE TABLE _prisma_migrations (
    id character varying(36) NOT NULL PRIMARY KEY,
    checksum character varying(64) NOT NULL,
    finished_at timestamp with time zone,
    migration_name character varying(255) NOT NULL,
    logs text,
    rolled_back_at timestamp with time zone,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    applied_steps_count integer DEFAULT 0 NOT NULL
);

-- == history
-- prisma migrate deploy
--   20260101000000_init
-- prisma migrate deploy, resolve --rolled-back and deploy again, with
--   20260102000000_retried       fails at first, and was changed
-- prisma migrate deploy and resolve --rolled-back, with
--   20260103000000_given_up      fails
-- prisma migrate deploy and resolve --applied, with
--   20260104000000_done_by_hand  fails
-- prisma migrate resolve --applied
--   20260105000000_baseline      never run
-- prisma migrate deploy, with
--   20260106000000_fails         fails
INSERT INTO _prisma_migrations VALUES ('345a73ff-3a5e-491a-8106-e01d05d23e2f', 'cdc6f7da29b036e4181a2ba06eb29281f828e02b45dca22aff78ac6de113e48b', '2026-11-30 01:02:40.434+00', '20260101000000_init', NULL, NULL, '2026-11-30 01:02:40.431+00', 1);
INSERT INTO _prisma_migrations VALUES ('a80a172e-9e41-4167-ac23-9a5a9839393c', '49d60684ba00d5eedc817d3ab130fa00c511c5d8761bb7f61b5c776c15b1143c', NULL, '20260102000000_retried', 'external connector error
No such table: missing
   0: sql_schema_connector::apply_migration::apply_script
           with migration_name="20260102000000_retried"
             at schema-engine/connectors/sql-schema-connector/src/apply_migration.rs:113
   1: schema_commands::commands::apply_migrations::Applying migration
           with migration_name="20260102000000_retried"
             at schema-engine/commands/src/commands/apply_migrations.rs:95
   2: schema_engine_wasm::wasm::engine::ApplyMigrations
             at schema-engine/schema-engine-wasm/src/wasm/engine.rs:167', '2026-11-30 01:02:52.118+00', '2026-11-30 01:02:51.263+00', 0);
INSERT INTO _prisma_migrations VALUES ('a21c3c3f-984a-416b-a474-1c6530198457', '2758258bcba50f330901f0fd4c78a6c8d8cdfed2f7b6afc436cc789ef4ae0965', '2026-11-30 01:03:02.951+00', '20260102000000_retried', NULL, NULL, '2026-11-30 01:03:02.947+00', 1);
INSERT INTO _prisma_migrations VALUES ('39447b9c-134b-4a4f-9933-ae8ff8eaffbb', 'dfc4387d055d97603bc05db0151361da2bdb16219b57b242c7b464c57199d317', NULL, '20260103000000_given_up', 'external connector error
No such table: missing
   0: sql_schema_connector::apply_migration::apply_script
           with migration_name="20260103000000_given_up"
             at schema-engine/connectors/sql-schema-connector/src/apply_migration.rs:113
   1: schema_commands::commands::apply_migrations::Applying migration
           with migration_name="20260103000000_given_up"
             at schema-engine/commands/src/commands/apply_migrations.rs:95
   2: schema_engine_wasm::wasm::engine::ApplyMigrations
             at schema-engine/schema-engine-wasm/src/wasm/engine.rs:167', '2026-11-30 01:03:14.622+00', '2026-11-30 01:03:13.809+00', 0);
INSERT INTO _prisma_migrations VALUES ('90e6c099-3ac6-4226-b08d-8afb75ffd2a0', 'ee4c126360402dcf8febf5cab9a1e76189dbfa80344ffdd72dd10afe22d00474', NULL, '20260104000000_done_by_hand', 'external connector error
No such table: missing
   0: sql_schema_connector::apply_migration::apply_script
           with migration_name="20260104000000_done_by_hand"
             at schema-engine/connectors/sql-schema-connector/src/apply_migration.rs:113
   1: schema_commands::commands::apply_migrations::Applying migration
           with migration_name="20260104000000_done_by_hand"
             at schema-engine/commands/src/commands/apply_migrations.rs:95
   2: schema_engine_wasm::wasm::engine::ApplyMigrations
             at schema-engine/schema-engine-wasm/src/wasm/engine.rs:167', '2026-11-30 01:03:26.185+00', '2026-11-30 01:03:25.417+00', 0);
INSERT INTO _prisma_migrations VALUES ('b3a83d5c-84d3-4376-814d-2b623c25c888', 'ee4c126360402dcf8febf5cab9a1e76189dbfa80344ffdd72dd10afe22d00474', '2026-11-30 01:03:26.186+00', '20260104000000_done_by_hand', '', NULL, '2026-11-30 01:03:26.186+00', 0);
INSERT INTO _prisma_migrations VALUES ('42cd978d-d311-4850-9ef7-54550b942c0b', 'a042b21188532946bb96a39250206fb27066c3a233c4417a3343faee53fe902a', '2026-11-30 01:03:37.001+00', '20260105000000_baseline', '', NULL, '2026-11-30 01:03:37.001+00', 0);
INSERT INTO _prisma_migrations VALUES ('00027e5d-51f0-45ca-bbcb-06fe68877033', '1d201c98faef763238911a6670d56bba28341ffc08d0a4c033a6503751fed6be', NULL, '20260106000000_fails', 'external connector error
No such table: missing
   0: sql_schema_connector::apply_migration::apply_script
           with migration_name="20260106000000_fails"
             at schema-engine/connectors/sql-schema-connector/src/apply_migration.rs:113
   1: schema_commands::commands::apply_migrations::Applying migration
           with migration_name="20260106000000_fails"
             at schema-engine/commands/src/commands/apply_migrations.rs:95
   2: schema_engine_wasm::wasm::engine::ApplyMigrations
             at schema-engine/schema-engine-wasm/src/wasm/engine.rs:167', NULL, '2026-11-30 01:03:48+00', 0);

-- == killed
-- prisma migrate deploy, killed (kill -9) in
--   20260107000000_killed        create table k (id int); select pg_sleep(300);
INSERT INTO _prisma_migrations VALUES ('92a2ae76-0072-44a4-850c-38e813383696', '84523b750a7c596419ec2973e9096d3ffa1b80b9d2e109a53d0a54751795e5e2', NULL, '20260107000000_killed', NULL, NULL, '2026-11-30 01:02:24.049+00', 0);

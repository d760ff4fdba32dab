-- The migration ledger of hallmark, in steps that only add. One that was released is
-- never changed. {schema} stands for the name of the schema. Times are such that every
-- reader has a place for them: neither infinite nor of years without four digits.

-- version 1
CREATE TABLE {schema}.ledger_changes (
    change_key      text PRIMARY KEY CHECK (change_key <> ''),
    target          text NOT NULL,                 -- the cluster or database this row speaks of, '' where there is one
    source_revision text NOT NULL,
    state           text NOT NULL CHECK (state IN ('RUNNING', 'SUCCEEDED', 'FAILED')),
    attempt         integer NOT NULL CHECK (attempt >= 1),       -- the one that state speaks of
    issued          integer NOT NULL CHECK (issued >= attempt),  -- the newest one that may run; a person raises it
    token           uuid NOT NULL,                 -- of the execution that holds, or held, the attempt
    lease_until     timestamptz CHECK (lease_until >= '2000-01-01Z' AND lease_until < '9999-01-01Z')
                    CHECK ((state = 'RUNNING') = (lease_until IS NOT NULL)),
    started_at      timestamptz NOT NULL CHECK (started_at >= '2000-01-01Z' AND started_at < '9999-01-01Z'),
    finished_at     timestamptz CHECK (finished_at >= '2000-01-01Z' AND finished_at < '9999-01-01Z')
                    CHECK ((state = 'RUNNING') = (finished_at IS NULL)),
    schema_version  text NOT NULL,                 -- of the application's schema once the change is done
    result_digest   text NOT NULL,                 -- sha256:<hex> of what the command wrote to standard output
    job_uid         text NOT NULL,
    executor        text NOT NULL,                 -- the pod or host that ran it
    failure         text NOT NULL,                 -- why it is FAILED, in words
    invariants      jsonb NOT NULL CHECK (jsonb_typeof(invariants) = 'array') -- [{"name", "holds", "checkedAt", "detail"}]
);
CREATE TABLE {schema}.ledger_attempts (
    change_key      text NOT NULL REFERENCES {schema}.ledger_changes,
    attempt         integer NOT NULL,
    token           uuid NOT NULL UNIQUE,
    source_revision text NOT NULL,
    state           text NOT NULL CHECK (state IN ('RUNNING', 'SUCCEEDED', 'FAILED')),
    started_at      timestamptz NOT NULL CHECK (started_at >= '2000-01-01Z' AND started_at < '9999-01-01Z'),
    finished_at     timestamptz CHECK (finished_at >= '2000-01-01Z' AND finished_at < '9999-01-01Z'),
    exit_code       integer,                       -- NULL where the command's end is not known
    result_digest   text NOT NULL,
    job_uid         text NOT NULL,
    executor        text NOT NULL,
    failure         text NOT NULL,
    PRIMARY KEY (change_key, attempt)
);
CREATE TABLE {schema}.ledger_decisions (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    change_key      text NOT NULL REFERENCES {schema}.ledger_changes,
    attempt         integer NOT NULL,              -- the one that was judged
    verdict         text NOT NULL CHECK (verdict IN ('succeeded', 'failed', 'retry')),
    issued          integer,                       -- the attempt that may run now
    reason          text NOT NULL CHECK (reason <> ''),
    evidence        text NOT NULL CHECK (evidence <> ''),
    decided_by      text NOT NULL,
    database_role   text NOT NULL DEFAULT session_user,
    decided_at      timestamptz NOT NULL CHECK (decided_at >= '2000-01-01Z' AND decided_at < '9999-01-01Z'),
    state_before    text NOT NULL,
    lease_before    timestamptz CHECK (lease_before >= '2000-01-01Z' AND lease_before < '9999-01-01Z'),
    forced          boolean NOT NULL
);

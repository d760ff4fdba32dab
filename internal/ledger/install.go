package ledger

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"hallmark.dev/hallmark/internal/diag"
)

// DefaultSchema is where the ledger's tables are.
const DefaultSchema = "hallmark"

//go:embed install.sql
var installSQL string

// Ledger is the ledger in a schema of a database.
type Ledger struct {
	db     *DB
	schema string // quoted
}

// New is the ledger in a schema of db, which need not exist yet.
func New(db *DB, schema string) *Ledger {
	if schema == "" {
		schema = DefaultSchema
	}
	return &Ledger{db: db, schema: pgx.Identifier{schema}.Sanitize()}
}

// Disconnect ends the connection until a statement needs it again.
func (l *Ledger) Disconnect() { l.db.Close() }

// sql puts the schema into a statement.
func (l *Ledger) sql(statement string) string {
	return strings.ReplaceAll(statement, "{schema}", l.schema)
}

// steps are the parts of install.sql, the first of which makes version 1.
func steps() []string {
	parts := strings.Split(installSQL, "\n-- version ")
	for i, part := range parts {
		_, parts[i], _ = strings.Cut(part, "\n")
	}
	return parts[1:]
}

// Script is what Install runs, for those who let only a database administrator
// do that. Run again it does nothing; it drops nothing.
func (l *Ledger) Script() string {
	var out strings.Builder
	quote := "$hallmark$"
	for n := 1; strings.Contains(l.schema, quote); n++ { // it would end there
		quote = fmt.Sprintf("$hallmark%d$", n)
	}
	literal := strings.ReplaceAll(l.schema, "'", "''")
	// CREATE ... IF NOT EXISTS asks for the right to create before it looks. Whoever waited
	// for the lock must see what the other one made: at a higher isolation level it would
	// not, and without a look into pg_namespace itself the function answers from a cache.
	fmt.Fprintf(&out, `BEGIN ISOLATION LEVEL READ COMMITTED;
SELECT pg_advisory_xact_lock(hashtextextended('hallmark ledger', 0));
DO %s BEGIN
IF NOT EXISTS (SELECT FROM pg_namespace WHERE oid = to_regnamespace('%s')) THEN
CREATE SCHEMA %s;
END IF;
IF to_regclass('%s.ledger_versions') IS NULL THEN
CREATE TABLE %s.ledger_versions (
    version      integer PRIMARY KEY,
    installed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    installed_by text NOT NULL DEFAULT session_user
);
END IF;
END %s;
`, quote, literal, l.schema, literal, l.schema, quote)
	for i, step := range steps() {
		fmt.Fprintf(&out, `DO %s BEGIN
IF NOT EXISTS (SELECT FROM %s.ledger_versions WHERE version = %d) THEN
%s
INSERT INTO %s.ledger_versions (version) VALUES (%d);
END IF;
END %s;
`, quote, l.schema, i+1, strings.TrimSpace(l.sql(step)), l.schema, i+1, quote)
	}
	out.WriteString("COMMIT;\n")
	return out.String()
}

// Install makes what is missing of the tables, and asks for no right where nothing
// is. Tables of a newer hallmark are left as they are: their steps only add.
func (l *Ledger) Install(ctx context.Context) error {
	version, err := l.Version(ctx)
	if err == nil && version >= len(steps()) || err != nil && KindOf(err) != NotInstalled {
		return err
	}
	return retried(func() error {
		return l.db.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.PgConn().Exec(ctx, l.Script()).ReadAll()
			if err != nil && !conn.IsClosed() { // out of the transaction that failed
				_, _ = conn.PgConn().Exec(ctx, "ROLLBACK").ReadAll()
			}
			return err
		})
	})
}

// tables are those of version 1, beside ledger_versions.
var tables = []string{"ledger_changes", "ledger_attempts", "ledger_decisions"}

// Version is that of the tables, 0 where there are none yet. It is an error where a
// version is recorded and a table is not there: to make it anew would say that nothing
// ever ran.
func (l *Ledger) Version(ctx context.Context) (int, error) {
	version, missing := 0, ""
	err := l.db.Query(ctx, func(scan func(...any) error) error { return scan(&version, &missing) },
		l.sql(`SELECT COALESCE(max(version), 0), COALESCE((SELECT string_agg(name, ', ' ORDER BY name) FROM unnest($1::text[]) AS name
WHERE to_regclass($2::text || '.' || name) IS NULL), '') FROM {schema}.ledger_versions`), tables, l.schema)
	if err == nil && version > 0 && missing != "" {
		err = diag.WithHint(&Error{Kind: Other, Fact: fmt.Sprintf("version %d of the ledger is recorded, and tables are missing: %s", version, missing)},
			"restore them from a backup: they say what ran")
	}
	return version, err
}

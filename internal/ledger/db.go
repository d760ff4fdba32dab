package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"hallmark.dev/hallmark/internal/diag"
)

// defaultTimeout bounds a statement, and the connection before it.
const defaultTimeout = 10 * time.Second

// Config says where a database is.
type Config struct {
	// DSN is the address: a URL or keywords as libpq takes them. What it leaves out is
	// taken from libpq's own variables (PGHOST, PGUSER, PGPASSFILE ...).
	DSN string
	// Source is where the DSN came from, such as "$HALLMARK_LEDGER_DSN". Errors name it,
	// since they never name the address.
	Source string
	// Timeout bounds a statement; 10 s where it is 0.
	Timeout time.Duration
}

// DB is one connection to a PostgreSQL database. It is made when it is first needed and
// again after it broke. One statement runs at a time; others wait.
type DB struct {
	config  Config
	connect *pgx.ConnConfig
	turn    chan struct{} // holds a value while a statement runs
	conn    *pgx.Conn     // of whoever has the turn
}

// Open reads the address. Nothing is connected yet.
func Open(c Config) (*DB, error) {
	connect, err := pgx.ParseConfig(c.DSN)
	if err != nil { // its text has the address
		return nil, &Error{Kind: Other, Fact: fmt.Sprintf("the address of the database in %s cannot be read: want postgres://USER:PASSWORD@HOST:PORT/DATABASE or libpq's keywords", c.Source)}
	}
	if word := unknownKeyword(connect.RuntimeParams); word != "" {
		return nil, diag.WithHint(&Error{Kind: Other, Fact: fmt.Sprintf("the address of the database in %s has %q, which hallmark has no support for", c.Source, word)},
			"leave it out; host takes an IP address as well")
	}
	// A statement is one round trip, and works behind PgBouncer: nothing is prepared.
	connect.DefaultQueryExecMode = pgx.QueryExecModeExec
	if connect.RuntimeParams["application_name"] == "" {
		connect.RuntimeParams["application_name"] = "hallmark"
	}
	// The forms that values are read in, whatever the database's own are.
	connect.RuntimeParams["datestyle"] = "ISO"
	connect.RuntimeParams["client_encoding"] = "UTF8"
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	return &DB{config: c, connect: connect, turn: make(chan struct{}, 1)}, nil
}

// libpq's keywords that pgx does not know, and would send to the server as settings.
// Source: PostgreSQL's documentation, 34.1.2 and older editions of it.
var (
	// needed change what is connected to, or ask for safety: without them nothing is.
	needed = []string{"hostaddr", "replication", "requirepeer", "requiressl", "scram_client_key", "scram_server_key",
		"ssl_max_protocol_version", "ssl_min_protocol_version", "sslcrl", "sslcrldir"}
	// spare ones are passed over: pgx does well without.
	spare = []string{"authtype", "fallback_application_name", "gssdelegation", "gssencmode", "gsslib", "keepalives", "keepalives_count",
		"keepalives_idle", "keepalives_interval", "load_balance_hosts", "sslcompression", "sslkeylogfile", "tcp_user_timeout", "tty"}
)

// unknownKeyword is the first keyword that the connection cannot do without, and pgx does
// not know. Those that it can do without are removed.
func unknownKeyword(settings map[string]string) string {
	for _, word := range needed {
		if settings[word] != "" {
			return word
		}
		delete(settings, word)
	}
	if settings["gssencmode"] == "require" {
		return "gssencmode"
	}
	for _, word := range spare {
		delete(settings, word)
	}
	return ""
}

// Close ends the connection, after the statement that runs.
func (db *DB) Close() {
	db.turn <- struct{}{}
	defer func() { <-db.turn }()
	if db.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = db.conn.Close(ctx)
	db.conn = nil
}

// Query runs a statement by itself, which takes one round trip, and calls each for each
// row. The rows are those of one moment. scan is that of database/sql. An error of each
// is returned as it is. Where the connection turns out to be broken before a row came,
// the statement is run again on a new one: it must be such that this does no harm.
func (db *DB) Query(ctx context.Context, each func(scan func(dest ...any) error) error, sql string, args ...any) error {
	return db.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		came := false
		err = forEach(rows, func(scan func(...any) error) error {
			came = true
			return each(scan)
		})
		if err != nil && came {
			return onceError{err}
		}
		return err
	})
}

// forEach reads rows to their end. What a row holds stands in no error.
func forEach(rows pgx.Rows, each func(scan func(dest ...any) error) error) error {
	defer rows.Close()
	scan := func(dest ...any) error {
		if err := rows.Scan(dest...); err != nil {
			return &Error{Kind: Other, Fact: "a column of the table has another type than it should have"}
		}
		return nil
	}
	for rows.Next() {
		if err := each(scan); err != nil {
			return callerError{err}
		}
	}
	return rows.Err()
}

// callerError is an error that came from what was called, and not from the database.
type callerError struct{ error }

// onceError is an error after which the same must not be done again unasked.
type onceError struct{ error }

func (e onceError) Unwrap() error { return e.error }

// use calls f with a connection and classifies what it returns. A connection that broke
// while nobody used it shows that only when it is used: f is then called again with a new
// one.
func (db *DB) use(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, db.config.Timeout)
	defer cancel()
	select {
	case db.turn <- struct{}{}:
		defer func() { <-db.turn }()
	case <-ctx.Done():
		return db.classify(ctx.Err())
	}
	for again := true; ; again = false {
		conn, fresh, err := db.connection(ctx)
		if err != nil {
			return db.classify(err)
		}
		err = f(ctx, conn)
		if own, ok := errors.AsType[callerError](err); ok {
			return own.error
		}
		if _, once := errors.AsType[onceError](err); err == nil || once || fresh || !again || !conn.IsClosed() || ctx.Err() != nil {
			return db.classify(err)
		}
	}
}

// connection is the one that is there, or a new one.
func (db *DB) connection(ctx context.Context) (conn *pgx.Conn, fresh bool, err error) {
	if db.conn != nil && !db.conn.IsClosed() {
		return db.conn, false, nil
	}
	db.conn, err = pgx.ConnectConfig(ctx, db.connect.Copy())
	return db.conn, true, err
}

// tries is how often a transaction is begun anew that PostgreSQL could not put into an
// order with others.
const tries = 10

// transaction calls f in a transaction. f is called again where the transaction could
// not be put into an order with others.
func (db *DB) transaction(ctx context.Context, f func(context.Context, pgx.Tx) error) error {
	return retried(func() error {
		return db.use(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			ends := false
			err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
				err := f(ctx, tx)
				ends = err == nil
				return err
			})
			if err != nil && ends { // nobody knows whether it was committed
				return onceError{err}
			}
			return err
		})
	})
}

// retried calls f until it has no conflict with others.
func retried(f func() error) error {
	for left := tries; ; left-- {
		if err := f(); left == 0 || KindOf(err) != Conflict || isTimeout(err) {
			return err
		}
	}
}

// isTimeout reports whether a statement, or its wait for a lock, took too long, which it
// would again.
func isTimeout(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Code == "57014" || e.Code == "55P03")
}

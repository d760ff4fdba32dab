package ledger

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"hallmark.dev/hallmark/internal/diag"
)

// Kind is what a caller can do about an error.
type Kind string

// The kinds of errors.
const (
	Unreachable  Kind = "unreachable"   // no connection, a lost one, a server that starts or stops: later it may work
	Denied       Kind = "denied"        // the server refuses role and password
	Forbidden    Kind = "forbidden"     // the role lacks a right
	ReadOnly     Kind = "read-only"     // a standby, or a session that may only read
	NotInstalled Kind = "not-installed" // a table is missing
	Conflict     Kind = "conflict"      // transactions could not be put into an order, or a lock was not to be had
	Other        Kind = "other"
)

// Error is an error of the database, without its address or any value.
type Error struct {
	Kind Kind
	Code string // SQLSTATE, "" where the server did not answer
	Fact string
}

func (e *Error) Error() string {
	if e.Code == "" {
		return e.Fact
	}
	return e.Fact + " (SQLSTATE " + e.Code + ")"
}

// KindOf is the kind of an error of this package, Other for any other.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Other
}

// byCode says what an SQLSTATE means here, by the longest prefix.
// Source: PostgreSQL's documentation, appendix A.
var byCode = map[string]Error{
	"08":    {Unreachable, "", "the connection to the database was lost"},
	"25006": {ReadOnly, "", "the database takes no writes: a standby, or a session that is read-only"},
	"28":    {Denied, "", "the database refuses the role or its password"},
	"3D000": {Denied, "", "the database of that name does not exist"},
	"3F000": {NotInstalled, "", "the ledger is not installed: its schema does not exist"},
	"40":    {Conflict, "", "the transaction could not be put into an order with others"},
	"42P01": {NotInstalled, "", "the table does not exist"},
	"42501": {Forbidden, "", "the role lacks a right on the schema or its tables"},
	"42703": {Other, "", "the table has other columns"},
	"53":    {Unreachable, "", "the database has no room for more connections or work"},
	"55P03": {Conflict, "", "a lock was not to be had in time"},
	"57014": {Conflict, "", "the statement took too long"},
	"57P":   {Unreachable, "", "the database is shutting down or starting up"},
}

// classify makes an Error of what pgx returned. What is wrapped is not kept: its text
// has the address, the role and values.
func (db *DB) classify(err error) error {
	if err == nil {
		return nil
	}
	if own := (*Error)(nil); errors.As(err, &own) {
		return err
	}
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		found := Error{Other, answer.Code, "the database refused the statement"}
		// A pooler says 08P01 of a connection that it ends; PostgreSQL of a statement with
		// a parameter that nobody gave.
		refused := answer.Code == "08P01" && answer.SeverityUnlocalized == "ERROR"
		for n := len(answer.Code); n >= 2 && !refused; n-- {
			if known, ok := byCode[answer.Code[:n]]; ok {
				found.Kind, found.Fact = known.Kind, known.Fact
				break
			}
		}
		return db.hint(&found)
	}
	found := Error{Kind: Unreachable, Fact: "the database cannot be reached"}
	var dns *net.DNSError
	var timeout net.Error
	switch {
	case isUnmet(err):
		found.Fact = "no server meets what the address asks for, such as target_session_attrs, channel_binding or require_auth"
	case errors.As(err, &dns):
		found.Fact += ": its host name is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		found.Fact += ": connection refused"
	case errors.Is(err, context.Canceled):
		found.Fact = "stopped while waiting for the database"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		found.Fact += ": no answer in time"
	case strings.Contains(err.Error(), "tls: "), strings.Contains(err.Error(), "tls error: "): // crypto/tls and pgx; names are in that text, too
		found.Fact += ": TLS is refused or its certificate is not trusted"
	case !pgconn.SafeToRetry(err):
		found.Fact = "the connection to the database was lost"
	}
	return db.hint(&found)
}

// isUnmet reports whether a server answered, and is not one that the address asks for.
func isUnmet(err error) bool {
	for _, role := range []error{pgconn.ErrReadOnlyConnection, pgconn.ErrReadWriteConnection, pgconn.ErrPrimaryConnection, pgconn.ErrStandbyConnection} {
		if errors.Is(err, role) {
			return true
		}
	}
	text := err.Error() // pgx has no error of its own for these
	return strings.Contains(text, "channel binding required") || strings.Contains(text, "authentication method requirement")
}

// hint says where the address came from, since the error does not say the address.
func (db *DB) hint(err *Error) error {
	switch err.Kind {
	case Unreachable, Denied:
		return diag.WithHint(err, "the address is that of "+db.config.Source)
	case NotInstalled:
		return diag.WithHint(err, "`hallmark ledger install` creates the ledger's tables")
	case Forbidden:
		return diag.WithHint(err, "the role needs USAGE on the schema and SELECT, for a run INSERT and UPDATE, on its tables")
	}
	return err
}

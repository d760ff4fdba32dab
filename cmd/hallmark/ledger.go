package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger"
)

func ledgerCommand(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use: "ledger", Short: "The migration ledger: run a side effect once, and know how far it got",
		Long: ledgerHelp, Example: ledgerExample,
		Args: func(_ *cobra.Command, args []string) error {
			if err := refuseAddress(args); err != nil {
				return err
			}
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q", "ledger "+args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return usageError{errors.New("no command given")} },
	}
	cmd.SetFlagErrorFunc(ledgerFlagError)
	cmd.AddCommand(ledgerInstallCommand(env), ledgerRunCommand(env), ledgerRecoverCommand(env), ledgerStatusCommand(env), ledgerProjectCommand(env))
	return cmd
}

// ledgerDSN is the variable with the address of the database.
const ledgerDSN = "HALLMARK_LEDGER_DSN"

// libpqVariables are those of which one has to be set where there is no other address:
// without any, libpq takes whatever database runs on this machine, and a side effect
// would be recorded there.
var libpqVariables = []string{"PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE"}

// refusedVariables are those that libpq heeds and hallmark would pass over: it would
// connect elsewhere, or with less safety than was asked for.
var refusedVariables = []string{"PGHOSTADDR", "PGREQUIREPEER", "PGSSLCRL", "PGSSLCRLDIR", "PGSSLMINPROTOCOLVERSION"}

const (
	maxDSN    = 64 << 10
	maxSchema = 63 // bytes; PostgreSQL cuts off the rest of a name
)

// ledgerFlags say where a ledger is. Every command that reads one has them.
type ledgerFlags struct {
	dsnFile, schema string
	timeout         time.Duration

	changed func(flag string) bool
}

func (f *ledgerFlags) flags(cmd *cobra.Command) {
	f.changed = cmd.Flags().Changed
	cmd.Flags().StringVar(&f.dsnFile, "dsn-file", "", "`file` with the address of the database (default: what $"+ledgerDSN+" holds, else libpq's variables such as PGHOST)")
	cmd.Flags().StringVar(&f.schema, "schema", ledger.DefaultSchema, "`name` of the schema that the ledger's tables are in")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 10*time.Second, "`time` that a statement may take, connecting included")
}

// open is the ledger that the flags and the environment name. Nothing is connected
// yet; the caller closes the database.
func (f *ledgerFlags) open(env *environment) (*ledger.DB, *ledger.Ledger, error) {
	c, err := f.config(env)
	if err != nil {
		return nil, nil, err
	}
	db, err := ledger.Open(c)
	if err != nil {
		return nil, nil, err
	}
	return db, ledger.New(db, f.schema), nil
}

// check refuses a name of a schema that would not be the one that PostgreSQL uses.
func (f *ledgerFlags) check() error {
	switch {
	case f.schema == "" || !utf8.ValidString(f.schema):
		return usageError{fmt.Errorf("--schema: got %q, want a name", f.schema)}
	case len(f.schema) > maxSchema:
		return usageError{fmt.Errorf("--schema: got %d bytes, want at most %d", len(f.schema), maxSchema)}
	case f.timeout <= 0:
		return usageError{fmt.Errorf("--timeout: got %s, want a duration above 0, such as 10s", f.timeout)}
	}
	return nil
}

// config is where the database is: the file, else the variable, else libpq's variables.
// A source that is given and empty is an error, and never a reason to take the next one.
func (f *ledgerFlags) config(env *environment) (ledger.Config, error) {
	if err := f.check(); err != nil {
		return ledger.Config{}, err
	}
	c := ledger.Config{Timeout: f.timeout}
	if f.changed("dsn-file") {
		var err error
		c.Source = fmt.Sprintf("--dsn-file %q", f.dsnFile)
		c.DSN, err = readDSN(f.dsnFile)
		return c, err
	}
	if c.DSN = env.getenv(ledgerDSN); c.DSN != "" || env.isSet(ledgerDSN) {
		c.Source = "$" + ledgerDSN
		if c.DSN = trimDSN(c.DSN); c.DSN == "" {
			return c, errors.New("$" + ledgerDSN + " is set and empty, want the address of a database")
		}
		return c, nil
	}
	for _, name := range refusedVariables {
		if env.getenv(name) != "" {
			return c, diag.WithHint(fmt.Errorf("$%s is set, which hallmark has no support for", name), "leave it out; PGHOST takes an IP address as well")
		}
	}
	if !slices.ContainsFunc(libpqVariables, func(name string) bool { return env.getenv(name) != "" }) {
		return c, usageError{diag.WithHint(errors.New("no database given"), hintNoDatabase)}
	}
	c.Source = "libpq's variables (PGHOST and others)"
	return c, nil
}

// isSet reports whether the environment has a variable, which may be empty.
func (env *environment) isSet(name string) bool {
	return slices.ContainsFunc(env.environ(), func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
}

// readDSN reads the address of a database from a file, such as that of a mounted Secret.
// No error has anything of the content.
func readDSN(file string) (string, error) {
	if isAddress(file) {
		return "", usageError{diag.WithHint(errors.New("--dsn-file: got an address, want the name of a file"), hintDSN)}
	}
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("--dsn-file %q: %w", file, reason(err))
	}
	if !info.Mode().IsRegular() { // a pipe may never end
		return "", fmt.Errorf("--dsn-file %q: it is not a regular file", file)
	}
	data, err := readFile(file, "the address of a database", maxDSN)
	if err != nil {
		return "", err
	}
	dsn := trimDSN(string(data))
	if dsn == "" {
		return "", fmt.Errorf("--dsn-file %q: it is empty, want the address of a database", file)
	}
	return dsn, nil
}

// trimDSN is an address without what an editor, echo or a Secret that was made of a file
// adds around it.
func trimDSN(s string) string { return strings.TrimSpace(strings.TrimPrefix(s, "\ufeff")) }

// isAddress reports whether somebody wrote the address of a database where it does not
// belong, since a message that quotes it would show the password.
func isAddress(s string) bool {
	s = strings.ToLower(s)
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://") || strings.Contains(s, "password=")
}

// ledgerArgs makes what args refuses a wrong call, and an address as well.
func ledgerArgs(args cobra.PositionalArgs) cobra.PositionalArgs {
	return usageArgs(func(cmd *cobra.Command, given []string) error {
		if err := refuseAddress(given); err != nil {
			return err
		}
		return args(cmd, given)
	})
}

func refuseAddress(args []string) error {
	if slices.ContainsFunc(args, isAddress) {
		return diag.WithHint(errors.New("an argument is the address of a database"), hintDSN)
	}
	return nil
}

// ledgerFlagError is an unknown or wrong flag. Of a shorthand only its letter is said:
// -dsn=ADDRESS is an unknown shorthand with all that follows it.
func ledgerFlagError(_ *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return usageError{err}
	}
	name := unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		err = fmt.Errorf("unknown shorthand flag: -%s", name)
		name = letters
	}
	if strings.HasPrefix(name, "dsn") {
		err = diag.WithHint(err, hintDSN)
	}
	return usageError{err}
}

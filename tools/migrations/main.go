// Command migrations runs goose and golang-migrate as the programs of their users
// do, so that internal/ledger/history is tested with tables that the tools
// themselves wrote:
//
//	migrations TOOL DSN FOLDER COMMAND [ARGUMENT]
//
//	goose           up | down                 without a lock, as goose's own program
//	goose-lock      up | down                 with the lock table goose_lock
//	golang-migrate  up | down N | force VERSION
//
// It is a module of its own because no program of hallmark depends on the tools.
// It imports nothing of hallmark; `make migrations` builds it into ./bin.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/golang-migrate/migrate/v4"
	driver "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	_ "github.com/golang-migrate/migrate/v4/source/file"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "migrations:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: migrations goose|goose-lock|golang-migrate DSN FOLDER up|down|force [ARGUMENT]")

func run(args []string) error {
	if len(args) != 4 && len(args) != 5 {
		return errUsage
	}
	db, err := sql.Open("pgx", args[1])
	if err != nil {
		return err
	}
	defer db.Close()
	folder, command, argument := args[2], args[3], 0
	if len(args) == 5 {
		if argument, err = strconv.Atoi(args[4]); err != nil {
			return err
		}
	}
	switch args[0] {
	case "goose":
		return runGoose(db, folder, command)
	case "goose-lock":
		locker, err := lock.NewPostgresTableLocker()
		if err != nil {
			return err
		}
		return runGoose(db, folder, command, goose.WithLocker(locker))
	case "golang-migrate":
		return runMigrate(db, folder, command, argument)
	}
	return errUsage
}

func runGoose(db *sql.DB, folder, command string, options ...goose.ProviderOption) error {
	provider, err := goose.NewProvider(goose.DialectPostgres, db, os.DirFS(folder), options...)
	if err != nil {
		return err
	}
	switch command {
	case "up":
		_, err = provider.Up(context.Background())
	case "down":
		_, err = provider.Down(context.Background())
	default:
		err = errUsage
	}
	return err
}

func runMigrate(db *sql.DB, folder, command string, argument int) error {
	target, err := driver.WithInstance(db, &driver.Config{})
	if err != nil {
		return err
	}
	m, err := migrate.NewWithDatabaseInstance("file://"+folder, "pgx5", target)
	if err != nil {
		return err
	}
	defer m.Close()
	switch command {
	case "up":
		return m.Up()
	case "down":
		return m.Steps(-argument)
	case "force":
		return m.Force(argument)
	}
	return errUsage
}

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/internal/ledger"
	"hallmark.dev/hallmark/internal/ledger/controller"
)

// databases are those that objects can name. Where each is, is looked up at each use, so
// that a rotated password needs no restart.
type databases struct {
	config func(name string) (ledger.Config, error)

	mu sync.Mutex
	of map[string]*opened
}

// opened is a database as it was last used.
type opened struct {
	mu     sync.Mutex // held while it is used: a database runs one statement at a time anyway
	config ledger.Config
	db     *ledger.DB
}

// openDatabases are those that the flags name. Nothing is connected yet.
func (f *projectFlags) openDatabases(env *environment) (*databases, error) {
	d := &databases{of: map[string]*opened{}}
	if f.databases == "" {
		if _, err := f.config(env); err != nil {
			return nil, err
		}
		d.config = func(name string) (ledger.Config, error) {
			if name != "default" {
				return ledger.Config{}, fmt.Errorf("%w: without --databases there is \"default\" alone", controller.ErrNotConfigured)
			}
			return f.config(env)
		}
		return d, nil
	}
	switch err := f.check(); {
	case err != nil:
		return nil, err
	case f.changed("dsn-file"):
		return nil, usageError{errors.New("--databases and --dsn-file exclude each other")}
	case isAddress(f.databases):
		return nil, usageError{diag.WithHint(errors.New("--databases: got an address, want the name of a folder"), hintDatabases)}
	}
	if _, err := folder(f.databases); err != nil {
		return nil, fmt.Errorf("--databases: %w", err)
	}
	d.config = f.fromFolder
	return d, nil
}

// fromFolder reads the address of a database from its file in the folder. The name comes
// from an object, and is not to lead anywhere else.
func (f *projectFlags) fromFolder(name string) (ledger.Config, error) {
	c := ledger.Config{Timeout: f.timeout, Source: fmt.Sprintf("the file %q in --databases", name)}
	if name == "" || name[0] == '.' || strings.ContainsAny(name, "/\\\x00") {
		return c, fmt.Errorf("%w: %q is no name of a file", controller.ErrNotConfigured, name)
	}
	file := filepath.Join(f.databases, name)
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, diag.WithHint(fmt.Errorf("%w: --databases has no file %q", controller.ErrNotConfigured, name), hintDatabases)
	case err != nil:
		return c, fmt.Errorf("%w: %s: %w", controller.ErrNotConfigured, c.Source, reason(err))
	case !info.Mode().IsRegular():
		return c, fmt.Errorf("%w: %s is not a regular file", controller.ErrNotConfigured, c.Source)
	}
	data, err := readFile(file, "the address of a database", maxDSN)
	if err != nil {
		return c, fmt.Errorf("%w: %s: %w", controller.ErrNotConfigured, c.Source, reason(err))
	}
	if c.DSN = trimDSN(string(data)); c.DSN == "" {
		return c, fmt.Errorf("%w: %s is empty", controller.ErrNotConfigured, c.Source)
	}
	return c, nil
}

// use calls f with the database of a name.
func (d *databases) use(name string, f func(*ledger.DB) error) error {
	_, err := d.config(name)
	o := d.entry(name, err == nil)
	if o == nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	// Again, now that nobody else opens it.
	config, err := d.config(name)
	if err != nil || config != o.config {
		o.close()
	}
	if err != nil {
		return err
	}
	if o.db == nil {
		if o.db, err = ledger.Open(config); err != nil {
			return fmt.Errorf("%w: %w", controller.ErrNotConfigured, err)
		}
		o.config = config
	}
	return f(o.db)
}

// entry is that of a name, which is made where there is a database: names that objects
// only invent are not kept.
func (d *databases) entry(name string, exists bool) *opened {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.of[name] == nil && exists {
		d.of[name] = &opened{}
	}
	return d.of[name]
}

func (d *databases) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range d.of {
		o.mu.Lock()
		o.close()
		o.mu.Unlock()
	}
}

func (o *opened) close() {
	if o.db != nil {
		o.db.Close()
	}
	o.db = nil
}

// Package postgres runs a PostgreSQL for tests, on a loopback port of its own and
// in a temporary folder, and speaks to it by psql.
package postgres

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"hallmark.dev/hallmark/e2e/cluster"
	"hallmark.dev/hallmark/e2e/process"
	"hallmark.dev/hallmark/e2e/wait"
)

const (
	// account is whom PostgreSQL runs as where the test is root, for which it
	// refuses to run. Debian's package makes it.
	account = "postgres"
	// superuser is the role that the databases belong to.
	superuser = "postgres"
)

// A Server is a running PostgreSQL.
type Server struct {
	// Password is that of every role, so that a test can look for it where it
	// must not be.
	Password string

	programs  string
	dir       string
	port      int
	databases atomic.Int32
}

// Programs is the folder of PostgreSQL's programs, of the newest release that is
// installed; "" where none is.
func Programs() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres") // fails for a bad pattern alone
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path)
	}
	return ""
}

// Start starts a server with the programs of Programs. It stops with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{Password: rand.Text(), programs: Programs(), dir: cluster.TempDir(t), port: cluster.Ports(t, 1)[0]}
	password := filepath.Join(s.dir, "password")
	if err := os.WriteFile(password, []byte(s.Password), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.handOver(password); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(s.dir, "data")
	initdb := s.command("initdb", "--pgdata="+data, "--username="+superuser, "--pwfile="+password,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}

	server := s.command("postgres", "-D", data, "-p", strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1",
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=200", "-c", "shared_buffers=32MB")
	p := process.Start(t, process.Program{
		Name: "postgres", Path: server.Path, Args: server.Args[1:], Home: s.dir, Logs: s.dir, Grace: wait.Limit,
	})
	t.Cleanup(func() {
		// To PostgreSQL SIGTERM means to wait for clients. Killed, it would leave
		// shared memory behind.
		_ = syscall.Kill(p.PID(), syscall.SIGINT)
		if err := p.Stop(); err != nil {
			t.Errorf("postgres: %v", err)
		}
	})
	wait.Until(t, "PostgreSQL answers", func() error {
		if err := p.Ended(); err != nil {
			return err
		}
		_, err := s.psql(s.address(superuser, "postgres"), "SELECT 1")
		return err
	}, p.Tail)
	return s
}

// handOver gives the folder and the file to the account, where the test is root.
func (s *Server) handOver(file string) error {
	if os.Getuid() != 0 {
		return nil
	}
	as, err := user.Lookup(account)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(as.Uid)
	if err != nil {
		return err
	}
	return errors.Join(os.Chown(s.dir, uid, -1), os.Chown(file, uid, -1))
}

// command is one of PostgreSQL's programs, as the account.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	command := append([]string{filepath.Join(s.programs, name)}, args...)
	if os.Getuid() == 0 {
		// The kernel forgets the death signal when the user changes.
		command = append([]string{"setpriv", "--reuid=" + account, "--regid=" + account, "--init-groups", "--pdeathsig=QUIT"}, command...)
	}
	c := exec.Command(command[0], command[1:]...)
	c.Dir, c.Env = s.dir, []string{"PATH=" + os.Getenv("PATH")}
	return c
}

// Psql is the path of the program psql.
func (s *Server) Psql() string { return filepath.Join(s.programs, "psql") }

func (s *Server) address(role, database string) string {
	dsn := url.URL{
		Scheme: "postgres", User: url.UserPassword(role, s.Password), Host: "127.0.0.1:" + strconv.Itoa(s.port),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return dsn.String()
}

func (s *Server) psql(dsn, statements string) (string, error) {
	c := exec.Command(s.Psql(), "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", "--dbname="+dsn)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.dir}
	c.Stdin = strings.NewReader(statements)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// A Database is one of a server.
type Database struct {
	// DSN is the address for a role that may do everything.
	DSN string

	server *Server
	name   string
}

// Database makes a new, empty database.
func (s *Server) Database(t testing.TB) *Database {
	t.Helper()
	name := fmt.Sprintf("test%d", s.databases.Add(1))
	if _, err := s.psql(s.address(superuser, "postgres"), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return &Database{DSN: s.address(superuser, name), server: s, name: name}
}

// Role makes a role that may log in, and returns its name, which begins with that of
// the database, and its address of the database. Roles are of the whole server.
func (d *Database) Role(t testing.TB, suffix string) (name, dsn string) {
	t.Helper()
	name = d.name + "_" + suffix
	d.Query(t, "CREATE ROLE "+name+" LOGIN PASSWORD '"+d.server.Password+"'")
	return name, d.server.address(name, d.name)
}

// Query runs statements and returns the rows, a line each, with | between columns.
func (d *Database) Query(t testing.TB, statements string) string {
	t.Helper()
	out, err := d.server.psql(d.DSN, statements)
	if err != nil {
		t.Fatalf("%v in %s", err, statements)
	}
	return out
}

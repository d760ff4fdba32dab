package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Password is that of the superuser postgres and of every role that Role makes.
const Password = "marker-pässword-%41"

// patience bounds a wait for the server, which a busy machine makes slow.
const patience = 2 * time.Minute

// A Server is one PostgreSQL.
type Server struct {
	dir, programs string
	port          int
	as            *syscall.Credential
	command       *exec.Cmd
	ended         chan struct{}
	databases     atomic.Int64
}

var shared struct {
	sync.Mutex
	server *Server
	err    error
}

// Main runs the tests of a package and stops the server that they shared.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	shared.Lock()
	defer shared.Unlock()
	if shared.server != nil {
		if err := shared.server.remove(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return code
}

// Start is the server that the tests of a package share.
func Start(t testing.TB) *Server {
	t.Helper()
	programs := find(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = newServer(programs)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// NewServer is a server for one test, which ends with it.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s, err := newServer(find(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.remove(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// find is the folder of PostgreSQL's programs: those of the newest release there.
func find(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path)
	}
	if os.Getenv("CI") != "" {
		t.Fatal("PostgreSQL is not installed: Debian's package is postgresql")
	}
	t.Skip("PostgreSQL is not installed: Debian's package is postgresql")
	return ""
}

func newServer(programs string) (*Server, error) {
	// Not below the temporary folder of a test, which others may not enter.
	dir, err := os.MkdirTemp("/tmp", "pgtest")
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, programs: programs}
	if err := s.create(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// create makes the database cluster and starts it.
func (s *Server) create() error {
	if os.Getuid() == 0 { // PostgreSQL does not run as root
		as, err := user.Lookup("postgres")
		if err != nil {
			return err
		}
		uid, _ := strconv.Atoi(as.Uid)
		gid, _ := strconv.Atoi(as.Gid)
		s.as = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(s.dir, uid, gid); err != nil {
			return err
		}
	}
	secret := filepath.Join(s.dir, "password")
	if err := os.WriteFile(secret, []byte(Password), 0o644); err != nil {
		return err
	}
	initdb := s.program("initdb", "--pgdata="+s.data(), "--username=postgres", "--pwfile="+secret,
		"--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	// Whoever finds a free port may lose it to another before it is used.
	var err error
	for range 5 {
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.start(); err == nil {
			return nil
		}
	}
	return err
}

func (s *Server) data() string    { return filepath.Join(s.dir, "data") }
func (s *Server) logFile() string { return filepath.Join(s.dir, "log") }

func (s *Server) program(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.programs, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	// SIGQUIT ends a server at once, and what the test process leaves behind with it.
	cmd.SysProcAttr = endsWithParent(&syscall.SysProcAttr{Credential: s.as, Setpgid: true})
	return cmd
}

// start starts the server and waits until it answers.
func (s *Server) start() error {
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	s.command = s.program("postgres", "-D", s.data(), "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
		"-c", "max_connections=300", "-c", "shared_buffers=32MB", "-c", "max_wal_size=256MB")
	s.command.Stdout, s.command.Stderr = log, log
	s.ended = make(chan struct{})
	started := make(chan error)
	go func(cmd *exec.Cmd, ended chan struct{}) {
		// The signal for the death of the parent comes when this thread dies.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		_ = log.Close()
		close(ended)
	}(s.command, s.ended)
	if err := <-started; err != nil {
		return err
	}
	return s.await()
}

// await waits until the server answers.
func (s *Server) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.DSN("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.ended:
			log, _ := os.ReadFile(s.logFile())
			return fmt.Errorf("postgres ended: %s", log)
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server and leaves everything as it is, to be recovered at the next start.
func (s *Server) stop() error {
	if err := s.command.Process.Signal(syscall.SIGQUIT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(patience):
		return errors.New("postgres does not end")
	}
}

// remove ends the server at once: nobody needs what it would write. The workers of a fuzz
// test have a second to end in.
func (s *Server) remove() error { return errors.Join(s.stop(), os.RemoveAll(s.dir)) }

// Stop ends the server as a crash does.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
}

// Continue starts a server again that was stopped, at the same port.
func (s *Server) Continue(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// DSN is the address of a database, for the superuser.
func (s *Server) DSN(database string) string { return s.dsn("postgres", database) }

func (s *Server) dsn(role, database string) string {
	address := url.URL{
		Scheme: "postgres", User: url.UserPassword(role, Password), Host: "127.0.0.1:" + strconv.Itoa(s.port),
		Path: "/" + database, RawQuery: "sslmode=disable",
	}
	return address.String()
}

// Database makes a new, empty database and returns its address, for the superuser.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := "test" + strconv.FormatInt(s.databases.Add(1), 10)
	s.Exec(t, s.DSN("postgres"), "CREATE DATABASE "+name)
	return s.DSN(name)
}

// Role makes a role that may log in to the database of dsn and do there what the
// statements grant it, in which ROLE stands for its name. It returns the role's
// address of the database.
func (s *Server) Role(t testing.TB, dsn string, statements ...string) string {
	t.Helper()
	name := "role" + strconv.FormatInt(s.databases.Add(1), 10)
	s.Exec(t, dsn, "CREATE ROLE "+name+" LOGIN PASSWORD '"+Password+"'")
	for _, statement := range statements {
		s.Exec(t, dsn, strings.ReplaceAll(statement, "ROLE", name))
	}
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return s.dsn(name, strings.TrimPrefix(address.Path, "/"))
}

// Exec runs statements.
func (s *Server) Exec(t testing.TB, dsn, statements string) {
	t.Helper()
	conn := Connect(t, dsn)
	if _, err := conn.PgConn().Exec(context.Background(), statements).ReadAll(); err != nil {
		t.Fatalf("%v in %s", err, statements)
	}
}

// Connect is a connection that ends with the test.
func Connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	return conn
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Listen listens on the socket of a plugin in a folder: <name>.sock, or
// <name>-<version>.sock if there is a version, the names that Argo CD forms from
// an Application's plugin name (cmpserver/plugin/config.go, Address).
//
// The socket that a crashed server left behind is replaced. One that a server
// answers on is not, nor is a file of another kind.
func Listen(ctx context.Context, dir, name, version string) (net.Listener, error) {
	if name == "" || strings.ContainsAny(name+version, "/\x00") {
		return nil, fmt.Errorf("plugin name %q, version %q: want a name, and no slash in either", name, version)
	}
	if version != "" {
		name += "-" + version
	}
	socket := filepath.Join(dir, name+".sock")
	// The kernel's bound on a socket address, its closing zero included.
	if most := len(syscall.RawSockaddrUnix{}.Path) - 1; len(socket) > most {
		return nil, fmt.Errorf("socket path %q has %d bytes, want at most %d", socket, len(socket), most)
	}
	unlock, err := lock(dir)
	if err != nil {
		return nil, fmt.Errorf("plugins folder: %w", err)
	}
	defer unlock()
	if err := removeStale(ctx, socket); err != nil {
		return nil, err
	}
	return (&net.ListenConfig{}).Listen(ctx, "unix", socket)
}

// lock keeps two servers that start at once from each taking the other's fresh
// socket for a stale one. The lock is on the folder, so that no file is left in
// it, and ends with the process.
func lock(dir string) (unlock func(), err error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %q: %w", dir, err), folder.Close())
	}
	return func() { _ = folder.Close() }, nil // which unlocks it
}

func removeStale(ctx context.Context, socket string) error {
	info, err := os.Lstat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%q exists and is not a socket", socket)
	}
	dialer := net.Dialer{Timeout: time.Second}
	connection, err := dialer.DialContext(ctx, "unix", socket)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("a server is running on %q", socket), connection.Close())
	case !errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("asking whether a server is running on the socket: %w", err)
	}
	return os.Remove(socket)
}

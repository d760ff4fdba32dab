// Package confine takes from this process, for good, the right to open files that
// it has no business with, by Landlock (https://docs.kernel.org/userspace-api/landlock.html).
//
// It is for a server that renders what strangers wrote: should a template or a
// manifest ever get at the file system, there is nothing to find but the mounts
// that the server reads anyway. The kernel enforces it, for each thread, and
// nothing takes it back.
//
// What is confined, and what is not:
//
//   - Reading, listing, creating, writing, truncating, renaming and removing are
//     confined to the folders given. A kernel before 6.2 does not confine
//     truncating.
//   - Nothing can be executed, below the folders given either. There are no device
//     files to make, and no device takes an ioctl.
//   - Signals and abstract sockets of processes outside are out of reach, from
//     Linux 6.15 on, or 6.12 with the fix that lets threads of one process signal
//     each other, as Go's scheduler does.
//   - The network is left alone, and so are sockets in the file system: the server
//     answers on both, and may have to ask a key service on either.
//   - What is open stays open. Landlock does not hide that a file exists, either:
//     stat and readlink go on working.
//
// A rule belongs to the folder or file that has the path at the time, not to the
// path. So what appears in a folder later can be read, and what takes the place of
// a single file cannot. Kubernetes renews a mounted Secret by moving a link inside
// the mounted folder: allow folders.
package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

const (
	readFile landlock.AccessFSSet = ll.AccessFSReadFile
	readDir  landlock.AccessFSSet = ll.AccessFSReadDir

	writeFile landlock.AccessFSSet = ll.AccessFSWriteFile | ll.AccessFSTruncate
	writeDir  landlock.AccessFSSet = ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSMakeSock |
		ll.AccessFSRemoveFile | ll.AccessFSRemoveDir
)

// State is what became of a call of Files.
type State struct {
	// ABI is the version of the kernel's Landlock interface. It is 0 if the process
	// is not confined, and then Off says why.
	ABI int
	Off string
	// Absent are the paths that were passed over because nothing is there, or
	// nothing that this process can reach. They cannot be read later either.
	Absent []string
}

// Files confines the whole process to reading below the paths of read, and to
// reading, creating, writing and removing below those of write. Either may name
// folders and single files. The network is not restricted.
//
// A kernel without Landlock is no error: State says so. After an error the process
// is to end, since some of it may be confined.
func Files(read, write []string) (State, error) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return State{Off: off(err)}, nil
	}
	state := State{ABI: abi}
	var rules []landlock.Rule
	allow := func(paths []string, onFile, onFolder landlock.AccessFSSet) {
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil || !pin(path) {
				state.Absent = append(state.Absent, path)
				continue
			}
			access := onFile
			if info.IsDir() {
				access |= onFolder
			}
			rules = append(rules, landlock.PathAccess(access, path).IgnoreIfMissing())
		}
	}
	allow(read, readFile, readDir)
	allow(write, readFile|writeFile, readDir|writeDir)
	// The newest version that the library knows, less what older kernels lack.
	rights := landlock.V11
	rights.HandledAccessNet = 0
	rights.HandledAccessFS &^= ll.AccessFSResolveUnix
	if err := rights.BestEffort().Restrict(rules...); err != nil {
		return State{}, fmt.Errorf("confining the process with Landlock: %w", err)
	}
	return state, nil
}

// pin keeps what is below /proc open until the process ends, and reports whether
// it can be. Unlike other file systems, that one may make a new inode for the same
// name as soon as nobody uses the old one and memory is short, and rules belong to
// inodes.
func pin(path string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if strings.HasPrefix(resolved, "/proc/") {
		_, err = syscall.Open(resolved, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	}
	return err == nil
}

// off says why there is no Landlock, from the error of asking for its version.
func off(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSYS):
		return "the kernel has no Landlock"
	case errors.Is(err, syscall.EOPNOTSUPP):
		return "Landlock is turned off in this kernel (its parameter lsm)"
	case errors.Is(err, syscall.EPERM):
		return "the container runtime does not let it use Landlock (its seccomp profile)"
	}
	return fmt.Sprintf("the kernel does not answer for Landlock (%v)", err)
}

// Folder is the folder to allow, so that file can still be read after another one
// has taken its place.
func Folder(file string) string { return filepath.Dir(filepath.Clean(file)) }

package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/internal/confine"
	"hallmark.dev/hallmark/internal/diag"
)

// confineFlags say whether a server gives up what it need not read.
type confineFlags struct {
	mode string   // a landlock constant
	read []string // what the command does not know of
}

const (
	landlockAuto    = "auto"
	landlockRequire = "require"
	landlockOff     = "off"
)

func (f *confineFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.mode, "landlock", landlockAuto, "whether the server confines itself to reading its mounts and the credentials of key services: `auto` (where the kernel can), require (else it does not start) or off")
	cmd.Flags().StringArrayVar(&f.read, "landlock-read", nil, "one more `path` that it may read then (repeatable)")
}

// check tells a slip before anything is started.
func (f *confineFlags) check() error {
	switch f.mode {
	case landlockAuto, landlockRequire, landlockOff:
		return nil
	}
	return usageError{fmt.Errorf("--landlock: got %q, want auto, require or off", f.mode)}
}

// confine takes from the process the right to read anything but paths, what the
// environment names and what the libraries need, and to write outside socketDir.
// It comes after the listeners, since those read settings of the kernel, and
// before the first request.
func (f *confineFlags) confine(log *slog.Logger, env *environment, socketDir string, paths ...string) error {
	if f.mode == landlockOff {
		log.Warn("not confined: started with --landlock off")
		return nil
	}
	r, err := f.reach(env, paths)
	if err != nil {
		return err
	}
	state, err := confine.Files(slices.Concat(r.folders, r.files, r.usual), []string{socketDir})
	switch {
	case err != nil:
		return diag.WithHint(err, "--landlock off starts the server unconfined")
	case state.ABI == 0 && f.mode == landlockRequire:
		return fmt.Errorf("--landlock require: %s", state.Off)
	case state.ABI == 0:
		log.Warn("not confined: " + state.Off)
		return nil
	}
	there := func(path string) bool { return !slices.Contains(state.Absent, path) }
	log.Info("confined to reading its mounts", "landlockABI", state.ABI,
		"read", filter(slices.Concat(r.folders, r.files), there), "write", filter([]string{socketDir}, there))
	log.Debug("readable for libraries", "paths", filter(r.usual, there))
	if files := filter(r.files, there); len(files) > 0 {
		log.Warn("a file that takes the place of one of these is not read before a restart: each needs a folder of its own", "files", files)
	}
	if absent := filter(slices.Concat(r.folders, r.files), func(path string) bool { return !there(path) }); len(absent) > 0 {
		log.Info("not there: if these appear, they are not read before a restart", "paths", absent)
	}
	return nil
}

// reach is what a confined server can read.
type reach struct {
	folders []string // that were named, or that hold a file that was named
	files   []string // named, in a folder too wide to allow
	usual   []string // what is read on most systems, there or not
}

// credentialPaths are variables that name a file, or a folder, for the libraries of
// the key services, for TLS and for time zones.
var credentialPaths = []string{
	"SOPS_AGE_KEY_FILE", "SOPS_AGE_SSH_PRIVATE_KEY_FILE", "GNUPGHOME",
	"AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "AWS_CA_BUNDLE",
	"GOOGLE_APPLICATION_CREDENTIALS",
	"AZURE_FEDERATED_TOKEN_FILE", "AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_KUBERNETES_CA_FILE",
	"VAULT_CACERT", "VAULT_CAPATH", "VAULT_CLIENT_CERT", "VAULT_CLIENT_KEY",
	"HUAWEICLOUD_SDK_CREDENTIALS_FILE", "HUAWEICLOUD_SDK_ID_TOKEN_FILE", "HC_CONTAINER_AUTHORIZATION_TOKEN_FILE",
	"SSL_CERT_FILE", "ZONEINFO",
}

// homeCredentials are where the same libraries look without being told, below the
// home folder. That of az is not among them: only az itself reads it, and a confined
// process starts no program.
var homeCredentials = []string{".aws", ".config/gcloud", ".gnupg", ".huaweicloud", ".ssh"}

// usualPaths are what the libraries read of the system.
var usualPaths = []string{
	"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", // names of key services
	"/etc/ssl", "/etc/pki", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
	// Templates print dates in any time zone; where the zone cannot be read, the
	// engine silently takes UTC.
	"/usr/share/zoneinfo", "/usr/share/lib/zoneinfo", "/usr/lib/locale/TZ", "/etc/zoneinfo",
	// The metrics of the process. Its environment, which can hold keys, is beside
	// them and not here.
	"/proc/self/stat", "/proc/self/limits", "/proc/self/fd", "/proc/self/net", "/proc/stat",
	"/sys/class/dmi/id/product_name", // by which Google's library knows its own machines
	"/dev/null",
}

func (f *confineFlags) reach(env *environment, paths []string) (reach, error) {
	var r reach
	var faults []error
	home := env.getenv("HOME")
	name := func(by, path string) {
		if err := r.add(home, path); err != nil {
			faults = append(faults, fmt.Errorf("%s%w", by, err))
		}
	}
	for _, path := range paths {
		name("", path)
	}
	for _, variable := range credentialPaths {
		name(variable+": ", env.getenv(variable))
	}
	for _, path := range filepath.SplitList(env.getenv("SSL_CERT_DIR")) {
		name("SSL_CERT_DIR: ", path)
	}
	for _, path := range f.read {
		r.folders = append(r.folders, absolute(path))
	}
	r.usual = slices.Clone(usualPaths)
	config := env.getenv("XDG_CONFIG_HOME")
	if home != "" {
		for _, path := range homeCredentials {
			r.usual = append(r.usual, absolute(filepath.Join(home, path)))
		}
		// Allowing its folder would allow all of the home folder.
		if token := absolute(filepath.Join(home, ".vault-token")); exists(token) {
			r.files = append(r.files, token)
		}
		if config == "" {
			config = filepath.Join(home, ".config")
		}
	}
	if config != "" {
		r.usual = append(r.usual, absolute(filepath.Join(config, "sops")))
	}
	for _, list := range []*[]string{&r.folders, &r.files, &r.usual} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return r, diag.WithHint(errors.Join(faults...), "give the files a folder of their own, or start with --landlock off")
}

// add adds a folder, or the folder of a file, so that what a mount puts in the
// place of the file can be read.
func (r *reach) add(home, path string) error {
	if path == "" {
		return nil
	}
	path = absolute(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		if tooWide(path, home) {
			return fmt.Errorf("%q is too wide for a server that confines itself to reading its mounts", path)
		}
		r.folders = append(r.folders, path)
		return nil
	}
	r.file(home, path)
	// A link out of the folder, unlike those of Kubernetes' mounts. It may lead to a
	// link in such a mount, so the folder of each link on the way is allowed.
	for range maxLinks {
		target, err := os.Readlink(path)
		if err != nil {
			return nil // no link any more
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		if rel, err := filepath.Rel(filepath.Dir(path), target); err != nil || !filepath.IsLocal(rel) {
			r.file(home, target)
		}
		path = target
	}
	return nil
}

// maxLinks is how many links may lead to a file, as for the kernel.
const maxLinks = 40

func (r *reach) file(home, path string) {
	if dir := confine.Folder(path); !tooWide(dir, home) {
		r.folders = append(r.folders, dir)
		return
	}
	r.files = append(r.files, path)
}

// wideFolders hold what nobody named. Any other folder is taken for the
// one that the platform team made for its keys or its policy.
var wideFolders = []string{
	"/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/tmp",
	"/usr", "/usr/lib", "/usr/local", "/usr/share", "/var", "/var/lib", "/var/run", "/var/tmp",
}

// tooWide reports whether dir is one of those, the home folder, or a folder above
// it.
func tooWide(dir, home string) bool {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil && resolved != dir && tooWide(resolved, home) {
		return true
	}
	if home != "" {
		if rel, err := filepath.Rel(dir, absolute(home)); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return slices.Contains(wideFolders, dir)
}

// absolute is path from the root.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func filter(paths []string, keep func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool { return !keep(path) })
}

package decrypt

import (
	"bytes"
	"crypto"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"golang.org/x/crypto/ssh"
)

// Keys say where identities are. They are read from files and the environment of
// the process, never from the repository.
type Keys struct {
	// Paths are files and folders of files, each with age identities, an SSH
	// private key or a PGP key ring (armored or binary), told apart by content.
	Paths []string
	// Getenv gives the variables that sops knows: SOPS_AGE_KEY,
	// SOPS_AGE_KEY_FILE, SOPS_AGE_SSH_PRIVATE_KEY_FILE, GNUPGHOME,
	// XDG_CONFIG_HOME. Nil means none of them.
	Getenv func(string) string
	// Home is the folder in which sops looks for sops/age/keys.txt (in .config),
	// .ssh and .gnupg; empty for none.
	Home string
	// Programs says that sops may start what it starts on a laptop where the keys
	// above open nothing: gpg with its agent, age plugins, SOPS_AGE_KEY_CMD. It
	// then looks for keys itself, in the environment of the process.
	Programs bool
}

// ring is what Keys led to.
type ring struct {
	identities []identity
	// problems are sources that gave nothing, with the reason.
	problems []string
	programs bool
}

// identity is a private key.
type identity struct {
	kind string // kindAge or kindPGP
	name string // its public part
	from string
	age  age.Identity    // or nil
	pgp  *openpgp.Entity // or nil
}

// String is how messages name it.
func (id identity) String() string {
	if id.kind == kindPGP {
		return "pgp " + id.name
	}
	return id.name
}

// maxKeyFile bounds a file with keys, in bytes.
const maxKeyFile = 1 << 20

// Inspect reads all sources and returns the identities that were found, by their
// public parts and places, and what was of no use, with the reason: for an operator
// to see before a file fails.
func (k Keys) Inspect() (identities, problems []string) {
	r := k.load()
	for _, id := range r.identities {
		identities = append(identities, fmt.Sprintf("%s (%s)", id, id.from))
	}
	return identities, r.problems
}

// load reads all sources, in the order in which they are named above.
func (k Keys) load() *ring {
	r := &ring{programs: k.Programs}
	for _, path := range k.Paths {
		r.path(path)
	}
	getenv := k.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	if text := getenv("SOPS_AGE_KEY"); text != "" {
		// Several may stand on one line there.
		var lines []string
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "#") {
				lines = append(lines, strings.Fields(line)...)
			}
		}
		r.add("SOPS_AGE_KEY", []byte(strings.Join(lines, "\n")))
	}
	for _, name := range []string{"SOPS_AGE_KEY_CMD", "SOPS_AGE_SSH_PRIVATE_KEY_CMD"} {
		if getenv(name) != "" && !k.Programs {
			r.problem(name, "names a program, and none is started here")
		}
	}
	for _, name := range []string{"SOPS_AGE_KEY_FILE", "SOPS_AGE_SSH_PRIVATE_KEY_FILE"} {
		if file := getenv(name); file != "" {
			r.file(file, false)
		}
	}
	config, gnupg := getenv("XDG_CONFIG_HOME"), getenv("GNUPGHOME")
	if k.Home != "" {
		if config == "" {
			config = filepath.Join(k.Home, ".config")
		}
		if gnupg == "" {
			gnupg = filepath.Join(k.Home, ".gnupg")
		}
		for _, name := range []string{"id_ed25519", "id_rsa"} {
			r.file(filepath.Join(k.Home, ".ssh", name), true)
		}
	}
	if config != "" {
		r.file(filepath.Join(config, "sops", "age", "keys.txt"), true)
	}
	if gnupg != "" {
		r.file(filepath.Join(gnupg, "secring.gpg"), true)
		if _, err := os.Stat(filepath.Join(gnupg, "private-keys-v1.d")); err == nil && !k.Programs {
			r.problem(gnupg, "holds the keys of gpg 2.1 and later, which only gpg can read: export them with `gpg --export-secret-keys --armor`")
		}
	}
	return r
}

// path reads a file, or each file of a folder.
func (r *ring) path(path string) {
	entries, err := os.ReadDir(path)
	if err != nil {
		r.file(path, false)
		return
	}
	for _, e := range entries {
		// In the mount of a Secret the folders behind the links begin with "..".
		name := filepath.Join(path, e.Name())
		if info, err := os.Stat(name); strings.HasPrefix(e.Name(), ".") || err == nil && info.IsDir() {
			continue
		}
		r.file(name, false)
	}
}

func (r *ring) file(name string, mayBeAbsent bool) {
	data, err := readBounded(name)
	switch {
	case err == nil:
		r.add(name, data)
	case mayBeAbsent && errors.Is(err, fs.ErrNotExist):
	default:
		if path := (*fs.PathError)(nil); errors.As(err, &path) {
			err = path.Err
		}
		r.problem(name, "cannot be read: %v", err)
	}
}

func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxKeyFile+1))
	if err == nil && len(data) > maxKeyFile {
		err = fmt.Errorf("is larger than %d bytes", maxKeyFile)
	}
	return data, err
}

func (r *ring) problem(from, format string, args ...any) {
	r.problems = append(r.problems, from+" "+fmt.Sprintf(format, args...))
}

// add takes the identities in data. Its messages hold nothing of data: what looks
// like no key may be a damaged one.
func (r *ring) add(from string, data []byte) {
	text := string(bytes.TrimSpace(data))
	switch {
	case text == "":
		r.problem(from, "is empty")
	case strings.Contains(text, "AGE-SECRET-KEY-"), strings.Contains(text, "AGE-PLUGIN-"):
		r.addAge(from, text)
	case strings.Contains(text, "-----BEGIN AGE ENCRYPTED FILE"):
		r.problem(from, "is encrypted with a passphrase; nobody can be asked for it here")
	case strings.Contains(text, "-----BEGIN PGP"):
		r.addArmored(from, text)
	case strings.Contains(text, " PRIVATE KEY-----"):
		r.addSSH(from, data)
	case strings.HasPrefix(text, "age1"), strings.HasPrefix(text, "ssh-"):
		r.problem(from, "holds a public key only")
	default:
		r.addRing(from, bytes.NewReader(data))
	}
}

func (r *ring) addAge(from, text string) {
	for n, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var err error
		switch {
		case strings.HasPrefix(line, "AGE-PLUGIN-"):
			if !r.programs {
				r.problem(from, "line %d: an identity of an age plugin, and no program is started here", n+1)
			}
			continue
		case strings.HasPrefix(line, "AGE-SECRET-KEY-PQ-1"):
			var id *age.HybridIdentity
			if id, err = age.ParseHybridIdentity(line); err == nil {
				r.identities = append(r.identities, identity{kindAge, id.Recipient().String(), from, id, nil})
			}
		default:
			var id *age.X25519Identity
			if id, err = age.ParseX25519Identity(line); err == nil {
				r.identities = append(r.identities, identity{kindAge, id.Recipient().String(), from, id, nil})
			}
		}
		if err != nil {
			r.problem(from, "line %d: no age identity", n+1)
		}
	}
}

func (r *ring) addSSH(from string, data []byte) {
	id, err := agessh.ParseIdentity(data)
	if locked := (*ssh.PassphraseMissingError)(nil); errors.As(err, &locked) {
		if !r.programs { // sops asks for it
			r.problem(from, "is an SSH key with a passphrase; nobody can be asked for it here")
		}
		return
	}
	if err != nil {
		r.problem(from, "is no SSH private key of a kind that age knows (ed25519, RSA)")
		return
	}
	public := "ssh key"
	if raw, err := ssh.ParseRawPrivateKey(data); err == nil {
		if signer, isSigner := raw.(crypto.Signer); isSigner {
			if key, err := ssh.NewPublicKey(signer.Public()); err == nil {
				public = sshName(key)
			}
		}
	}
	r.identities = append(r.identities, identity{kindAge, public, from, id, nil})
}

// sshName is the form that `ssh-keygen -l` prints.
func sshName(key ssh.PublicKey) string { return key.Type() + " " + ssh.FingerprintSHA256(key) }

func (r *ring) addArmored(from, text string) {
	const begin = "-----BEGIN PGP"
	for _, block := range strings.Split(text, begin)[1:] {
		decoded, err := armor.Decode(strings.NewReader(begin + block))
		if err != nil {
			r.problem(from, "is no PGP key ring: its armor is damaged")
			continue
		}
		r.addRing(from, decoded.Body)
	}
}

func (r *ring) addRing(from string, data io.Reader) {
	entities, err := openpgp.ReadKeyRing(data)
	if err != nil {
		r.problem(from, "is no key of age, SSH or PGP that can be read")
		return
	}
	for _, e := range entities {
		id := identity{kindPGP, fingerprint(e), from, nil, e}
		switch state := pgpState(e); state {
		case "":
			r.identities = append(r.identities, id)
		default:
			r.problem(from, "%s %s", id, state)
		}
	}
}

// pgpState says why an entity decrypts nothing, or "".
func pgpState(e *openpgp.Entity) string {
	private := []*packet.PrivateKey{e.PrivateKey}
	for _, sub := range e.Subkeys {
		private = append(private, sub.PrivateKey)
	}
	private = slices.DeleteFunc(private, func(k *packet.PrivateKey) bool { return k == nil || k.Dummy() })
	switch {
	case len(private) == 0:
		return "is a public key only"
	case slices.ContainsFunc(private, func(k *packet.PrivateKey) bool { return k.Encrypted }):
		return "has a passphrase, and nobody can be asked for it here: export the key without one"
	}
	return ""
}

func fingerprint(e *openpgp.Entity) string {
	return strings.ToUpper(hex.EncodeToString(e.PrimaryKey.Fingerprint))
}

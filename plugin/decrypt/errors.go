package decrypt

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"

	"github.com/getsops/sops/v3"
	"golang.org/x/crypto/ssh"
)

// ErrKey is inside the error of a file that no key opened.
var ErrKey = errors.New("no key opens the file")

// maxNamed bounds how many keys of one sort a message lists.
const maxNamed = 8

// keyError says which keys the file wants and which there were.
func (f *file) keyError(s *service) error {
	msg := "cannot be decrypted: it is encrypted for " + f.wants(s)
	var tried, passed []string
	for _, id := range s.ring.identities {
		if s.permit.key(id.kind, id.name) {
			tried = append(tried, fmt.Sprintf("%s (%s)", id, id.from))
		} else {
			passed = append(passed, id.String())
		}
	}
	switch {
	case len(tried) > 0:
		msg += "; tried " + list(tried, "and")
	case s.asked == 0:
		msg += "; there is no key to try"
	}
	if len(passed) > 0 {
		msg += "; not allowed: " + list(passed, "and")
	}
	if len(s.ring.problems) > 0 {
		msg += "; not usable: " + list(s.ring.problems, "and")
	}
	hint, cause := s.remedy(len(tried), passed)
	return diag.WithHint(f.fault(msg, cause), hint)
}

// remedy is what fits best, with the error that says whose matter it is.
func (s *service) remedy(tried int, passed []string) (hint string, cause error) {
	kinds := map[string]bool{}
	for _, a := range s.failed {
		if a.forbidden != "" {
			return fmt.Sprintf("%s would have to allow it, under decryption.keys or decryption.roles; `hallmark policy explain` shows what it allows", s.permit.By), ErrForbidden
		}
		kinds[a.kind] = true
	}
	switch {
	case !kinds[kindAge] && !kinds[kindPGP] && len(kinds) > 0:
		return "the key service has to let hallmark decrypt with that key: see what it says, its address, and the credentials that the process has", ErrKey
	case len(passed) > 0:
		return fmt.Sprintf("give hallmark the private key of one of them, or encrypt the file for a key that %s names, with `sops updatekeys`; the rule could name another under decryption.keys", s.permit.By), ErrForbidden
	case tried == 0:
		return "give hallmark a private key: --keys with a file or folder, or SOPS_AGE_KEY_FILE; in the plugin the platform team mounts it", ErrKey
	}
	return "give hallmark the private key of one of them (--keys, or SOPS_AGE_KEY_FILE; in the plugin the platform team mounts it), or encrypt the file for a key that it has, with `sops updatekeys`", ErrKey
}

// wants words the keys of the metadata, with what became of each.
func (f *file) wants(s *service) string {
	meta := f.tree.Metadata
	groups := meta.KeyGroups
	if len(groups) == 0 || len(groups) == 1 && len(groups[0]) == 0 {
		return "nobody: its sops metadata names no key"
	}
	words := make([]string, min(len(groups), maxNamed))
	opened := 0
	for i, group := range groups {
		var names []string
		failed := 0
		for _, key := range group {
			name := nameOfMaster(key)
			for _, a := range s.failed {
				if a.key != name {
					continue
				}
				failed++
				if a.forbidden != "" {
					name += fmt.Sprintf(" (%s is not allowed)", a.forbidden)
				} else if a.reason != "" {
					name += " (" + a.reason + ")"
				}
				break
			}
			names = append(names, name)
		}
		if len(names) == 0 {
			names = []string{"no key"}
		}
		if failed < len(group) {
			opened++
		}
		if i < maxNamed {
			words[i] = list(names, "or")
		}
	}
	if len(groups) == 1 {
		return words[0]
	}
	for i := range words {
		words[i] = fmt.Sprintf("group %d: %s", i+1, words[i])
	}
	if opened >= threshold(meta) {
		return fmt.Sprintf("%d groups of keys, whose shares do not make a key", len(groups))
	}
	return fmt.Sprintf("%d groups of keys, of which %d have to open and %d did (%s)", len(groups), threshold(meta), opened, strings.Join(words, "; "))
}

func threshold(meta sops.Metadata) int {
	if meta.ShamirThreshold == 0 {
		return len(meta.KeyGroups)
	}
	return meta.ShamirThreshold
}

// list joins words, without repetitions.
func list(words []string, last string) string {
	var unique []string
	for _, w := range words {
		if !slices.Contains(unique, w) {
			unique = append(unique, w)
		}
	}
	if n := len(unique); n > maxNamed {
		unique = append(unique[:maxNamed], fmt.Sprintf("%d more", n-maxNamed))
	}
	if n := len(unique); n > 1 {
		return strings.Join(unique[:n-1], ", ") + " " + last + " " + unique[n-1]
	}
	return strings.Join(unique, "")
}

// recipientName is how a recipient of age is shown: an SSH key by its
// fingerprint, everything else as it stands.
func recipientName(recipient string) string {
	if key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(recipient)); err == nil {
		return sshName(key)
	}
	return recipient
}

package policy

import (
	"errors"
	"fmt"
	"strings"
)

// maxAddress is far more than a repository's address has.
const maxAddress = 2048

// A reading says what an address is of, and so how it is compared.
type reading int

const (
	repository reading = iota // ".git" at the end does not count
	keyAddress                // of a key on its server: http or https, without a user
)

// parts are those of an address that count: scheme is empty for git@host:path and
// host/path, user for what is no ssh address. path has the colon or slash that it
// begins with. Globs are cut in the same way and each part is matched alone, so
// that what a glob says of the host is never met by a path.
type parts struct{ scheme, user, host, path string }

func (p parts) list() []string { return []string{p.scheme, p.user, p.host, p.path} }

// split cuts an address or a glob for addresses, without checking it.
func split(address string) (p parts, authority string) {
	scheme, rest, found := strings.Cut(address, "://")
	ends := "/"
	if found {
		p.scheme = lower(scheme)
	} else {
		rest, ends = address, ":/"
	}
	authority = rest
	if end := strings.IndexAny(rest, ends); end >= 0 {
		authority, p.path = rest[:end], rest[end:]
	}
	p.host = authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		p.user, p.host = authority[:at], authority[at+1:]
	}
	p.host = lower(p.host)
	return p, authority
}

// reduce drops what does not count.
func (r reading) reduce(p parts) parts {
	switch p.scheme {
	case "https":
		p.host = strings.TrimSuffix(p.host, ":443")
	case "http":
		p.host = strings.TrimSuffix(p.host, ":80")
	case "ssh":
		p.host = strings.TrimSuffix(p.host, ":22")
	}
	if p.scheme != "" && !strings.HasSuffix(p.scheme, "ssh") {
		p.user = ""
	} else {
		p.user, _, _ = strings.Cut(p.user, ":")
	}
	p.path = strings.TrimSuffix(p.path, "/")
	if r == repository && !strings.HasSuffix(p.path, "/.git") && !strings.HasSuffix(p.path, ":.git") {
		p.path = strings.TrimSuffix(p.path, ".git")
	}
	return p
}

// normal returns the form of an address in which it is compared, or why it is not:
// programs may read it in several ways. The error does not quote the address.
func (r reading) normal(address string) (parts, error) {
	if address == "" {
		return parts{}, errors.New("it is empty")
	}
	if len(address) > maxAddress {
		return parts{}, fmt.Errorf("it is longer than %d bytes", maxAddress)
	}
	for _, c := range []byte(address) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>[]\\^`{|}?#;", c) >= 0 {
			return parts{}, fmt.Errorf("it has the character %q", string(rune(c)))
		}
	}
	p, authority := split(address)
	if err := r.check(p, authority, strings.Contains(address, "://")); err != nil {
		return parts{}, err
	}
	return r.reduce(p), nil
}

func (r reading) check(p parts, authority string, hasScheme bool) error {
	switch {
	case hasScheme && (strings.Trim(p.scheme, letters+digits+"+.-") != "" || strings.TrimLeft(p.scheme, letters) == p.scheme):
		return errors.New("it has no plain scheme")
	case r == keyAddress && p.scheme != "https" && p.scheme != "http":
		return errors.New("it does not begin with https:// or http://")
	case r == keyAddress && strings.Contains(authority, "@"):
		return errors.New("it holds a user")
	case strings.Count(authority, "@") > 1:
		return errors.New(`it has more than one "@" before the path`)
	}
	host, port, hasPort := strings.Cut(p.host, ":")
	if host == "" || strings.Trim(host, letters+digits+".-_") != "" || strings.Trim(host, ".-") != host {
		return errors.New("its host is not letters, digits, dots, hyphens and underscores")
	}
	if hasPort && (port == "" || len(port) > 5 || port[0] == '0' || strings.Trim(port, digits) != "") {
		return errors.New("its port is not a number")
	}
	if user := r.reduce(p).user; strings.Contains(user, "%") || strings.Contains(authority, "@") && p.user == "" {
		return errors.New("its user is empty or encoded")
	}
	return checkPath(p.path)
}

// checkPath refuses paths that a server or a client may rewrite.
func checkPath(path string) error {
	if path == "" || path == "/" {
		return nil
	}
	// Of git@host:/path the colon and the slash are not part of the first element.
	path = strings.TrimPrefix(strings.TrimPrefix(path, ":"), "/")
	if strings.HasPrefix(path, ":") {
		return errors.New(`it has "::"`)
	}
	for element := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		switch element {
		case "":
			return errors.New("its path has an empty element")
		case ".", "..":
			return fmt.Errorf("its path has the element %q", element)
		}
	}
	for rest := path; ; {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			return nil
		}
		// What may be written without an encoding has two spellings, and an
		// encoded slash or dot is one to some programs and not to others.
		if len(after) < 2 || strings.Trim(after[:2], digits+"ABCDEF") != "" || after[:2] != "20" && after[0] < '8' {
			return errors.New("its path has a percent encoding of something else than a space or what is not ASCII")
		}
		rest = after[2:]
	}
}

// compile compiles a glob for addresses.
func (r reading) compile(text string) (pattern, error) {
	return compilePattern(text, '/', func(alternative string) ([]string, error) {
		p, authority := split(alternative)
		if r == keyAddress {
			if p.scheme != "https" && p.scheme != "http" {
				return nil, errors.New("the glob has to begin with https:// or http://")
			}
			if strings.Contains(authority, "@") {
				return nil, errors.New("the glob holds a user, and an address with one is never allowed")
			}
		}
		if strings.Contains(p.scheme+"://"+authority, "**") {
			return nil, errors.New("the glob has ** in front of its path, where there is no slash that it could span; write * there")
		}
		// "https://git.example.com*" is meant to be about paths and is about
		// hosts, which anybody can register.
		host, _, _ := strings.Cut(p.host, ":")
		switch fixed := strings.TrimRight(host, "*"); {
		case fixed == host:
		case fixed == "" && r == keyAddress:
			return nil, errors.New("the host of the glob is *, so that the repository says which server is sent the sidecar's token; write the host out")
		case fixed != "":
			return nil, fmt.Errorf("the host of the glob ends in *, so that every host that begins with %q matches; write the host out", fixed)
		}
		return r.reduce(p).list(), nil
	})
}

// compileKeyAddress compiles a glob for keys on servers, whose names have a form.
func compileKeyAddress(text, form string) (pattern, error) {
	p, err := keyAddress.compile(text)
	switch {
	case err != nil:
		return p, err
	case p.any:
		return p, errors.New("the glob has to begin with https:// or http://")
	}
	for _, alternative := range p.alternatives {
		if path := alternative[len(alternative)-1]; len(path.tokens) == 0 {
			return p, fmt.Errorf("the glob ends with the host, and so matches no key: they are named %s", form)
		}
	}
	return p, nil
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// lower changes ASCII only: there are other letters whose lower case is ASCII.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// Package redact takes secrets out of text before it is shown: credentials out
// of addresses ([URL]), and the secret values of a request out of whatever the
// engines say about them ([Values]).
//
// Users write a password into the address of a repository of charts or of Git,
// although no tool asks them to. Such an address stands in Chart.yaml, in a
// kustomization and in an Application, and messages name it.
package redact

import "strings"

// URL takes user and password out of an address. The user name of an ssh URL
// stays: it is part of the address, "git" nearly always. What has no "://" is
// returned as it is: git@host:path and folders have no place for a password.
func URL(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	at := strings.LastIndexByte(authority, '@')
	if at < 0 && !plausibleHost(authority) {
		// A password with a "/", "?" or "#" that its owner did not encode ends
		// further on. Taking out too much is the safe side.
		at = strings.LastIndexByte(rest, '@')
	}
	if at < 0 {
		return address
	}
	user := ""
	if name, _, _ := strings.Cut(rest[:at], ":"); strings.HasSuffix(scheme, "ssh") {
		user = name + "@"
	}
	return scheme + "://" + user + rest[at+1:]
}

// Repository is URL for the address of a repository of Git, Helm or OCI images, as
// it is kept in logs and records: it also loses its query and its fragment, where
// some services take a token, and an address without a scheme (host:path) what
// stands in front of its host, if that has a password.
func Repository(address string) string {
	if !strings.Contains(address, "://") {
		if at := strings.LastIndexByte(address, '@'); at >= 0 && strings.Contains(address[:at], ":") {
			return address[at+1:]
		}
		return address
	}
	address = URL(address)
	if end := strings.IndexAny(address, "?#"); end >= 0 {
		address = address[:end]
	}
	return address
}

// plausibleHost reports whether what follows a colon in authority can be a port.
func plausibleHost(authority string) bool {
	if strings.HasPrefix(authority, "[") {
		return true
	}
	_, port, _ := strings.Cut(authority, ":")
	return strings.Trim(port, "0123456789") == ""
}

package redact_test

import (
	"testing"

	"hallmark.dev/hallmark/internal/redact"
)

func TestURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://charts.example.com":                     "https://charts.example.com",
		"https://git.example.com:8443/shop@v1":           "https://git.example.com:8443/shop@v1",
		"https://user:hunter2@git.example.com/shop":      "https://git.example.com/shop",
		"https://hunter2@git.example.com/shop":           "https://git.example.com/shop",
		"https://user:hun@ter2@git.example.com/shop":     "https://git.example.com/shop",
		"https://user:hunter2/x@git.example.com/shop":    "https://git.example.com/shop",
		"https://user:hunter2?x#y@git.example.com:1/a@b": "https://b",
		"ssh://git:hunter2@git.example.com/shop":         "ssh://git@git.example.com/shop",
		"git@git.example.com:shop.git":                   "git@git.example.com:shop.git",
		"https://[::1]:8443/shop@v1":                     "https://[::1]:8443/shop@v1",
		"oci://user:hunter2@registry.example.com/charts": "oci://registry.example.com/charts",
		"file://../common":                               "file://../common",
		"@alias":                                         "@alias",
		"":                                               "",
	} {
		if got := redact.URL(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestRepository(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://git.example.com/shop.git":              "https://git.example.com/shop.git",
		"https://user:hunter2@git.example.com/shop":     "https://git.example.com/shop",
		"https://hunter2@git.example.com/shop":          "https://git.example.com/shop",
		"https://u:%zz@hunter2@git.example.com/shop":    "https://git.example.com/shop",
		"https://git.example.com/shop?token=hunter2":    "https://git.example.com/shop",
		"https://git.example.com/shop?a=b@c:d":          "https://git.example.com/shop",
		"https://git.example.com/shop#hunter2":          "https://git.example.com/shop",
		"https://user:hunter2/x@git.example.com/shop":   "https://git.example.com/shop",
		"https://user:hunter2?x#y@git.example.com/shop": "https://git.example.com/shop",
		"https://user:%zzhunter2@git.example.com/shop":  "https://git.example.com/shop",
		"ssh://git:hunter2@git.example.com/shop":        "ssh://git@git.example.com/shop",
		"git@git.example.com:team/shop.git":             "git@git.example.com:team/shop.git",
		"user:hunter2@git.example.com:team/shop.git":    "git.example.com:team/shop.git",
		"file:///srv/shop":                              "file:///srv/shop",
		"oci://registry.example.com/charts":             "oci://registry.example.com/charts",
		"":                                              "",
	} {
		if got := redact.Repository(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

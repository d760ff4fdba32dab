package policy

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestRepositories(t *testing.T) {
	t.Parallel()
	const (
		payments = "https://git.example.com/payments/*"
		nested   = "https://git.example.com/payments/**"
		ssh      = "ssh://git@git.example.com/payments/*"
		scp      = "git@git.example.com:payments/*"
	)
	for _, test := range []struct {
		glob, address string
		want          bool
	}{
		// Spellings of one address.
		{payments, "https://git.example.com/payments/api", true},
		{payments, "https://git.example.com/payments/api.git", true},
		{payments, "https://git.example.com/payments/api/", true},
		{payments, "https://git.example.com/payments/api.git/", true},
		{payments, "HTTPS://Git.Example.COM/payments/api", true},
		{payments, "https://git.example.com:443/payments/api", true},
		{payments, "https://me:pass%40word@git.example.com/payments/api", true},
		{"HTTPS://me@Git.Example.com:443/payments/api.git/", "https://git.example.com/payments/api", true},
		{"https://git.example.com/payments/*.git", "https://git.example.com/payments/api", true},
		{"https://git.example.com/{payments/api.git,shop/*.git}", "https://git.example.com/shop/web.git", true},
		{ssh, "ssh://git@git.example.com:22/payments/api.git", true},
		{ssh, "ssh://git:pw@git.example.com/payments/api", true},
		{scp, "git@git.example.com:payments/api.git", true},
		{"registry.example.com:5000/charts", "Registry.example.com:5000/charts/", true},
		{"*", "https://git.example.com/payments/../evil", true},
		{"**", "", true},

		// What separators stop.
		{payments, "https://git.example.com/payments/team/api", false},
		{nested, "https://git.example.com/payments/team/api", true},
		{payments, "https://git.example.com/payments", false},
		{"https://*.example.com/payments/*", "https://evil.example/x.example.com/payments/api", false},

		// Other places.
		{payments, "http://git.example.com/payments/api", false},
		{payments, "https://git.example.com:8443/payments/api", false},
		{payments, "https://git.example.com.evil.example/payments/api", false},
		{payments, "https://git.example.com/Payments/api", false},
		{payments, "https://evil.example/https://git.example.com/payments/api", false},
		{payments, "git.example.com/payments/api", false},
		{ssh, "ssh://evil@git.example.com/payments/api", false},
		{ssh, "ssh://git.example.com/payments/api", false},
		{ssh, "git@git.example.com:payments/api", false},
		{scp, "ssh://git@git.example.com/payments/api", false},
		{scp, "evil@git.example.com:payments/api", false},
		{scp, "git.example.com:payments/api", false},
		{scp, "git@git.example.com:/payments/api", false},
		{scp, "git@git.example.com/payments/api", false},
		{"https://git.example.com/payments/api", "https://git.example.com/payments/api.git.git", false},

		// What programs read in several ways.
		{nested, "https://git.example.com/payments/../evil/api", false},
		{nested, "https://git.example.com/payments/./api", false},
		{nested, "https://git.example.com/payments/..", false},
		{nested, "https://git.example.com/payments//api", false},
		{nested, "https://git.example.com/payments/api//", false},
		{nested, "https://git.example.com//payments/api", false},
		{nested, "https://git.example.com/payments/%2e%2e/evil", false},
		{nested, "https://git.example.com/payments/%2E%2E/evil", false},
		{nested, "https://git.example.com/payments%2Fapi", false},
		{nested, "https://git.example.com/p%61yments/api", false},
		{nested, "https://git.example.com/payments/a%c3%a4", false},
		{nested, "https://git.example.com/payments/a%", false},
		{nested, "https://git.example.com/payments/a%2", false},
		{nested, "https://git.example.com/payments/a%00", false},
		{nested, "https://git.example.com/payments/..;/evil", false},
		{nested, "https://git.example.com/payments/..\\evil", false},
		{nested, "https://git.example.com/payments/api?ref=x", false},
		{nested, "https://git.example.com/payments/api#x", false},
		{nested, "https://git.example.com/payments/a b", false},
		{nested, "https://git.example.com/payments/a\nb", false},
		{nested, "https://git.example.com/payments/ä", false},
		{nested, "https://git.example.com/payments/" + long(maxAddress), false},
		{nested, " https://git.example.com/payments/api", false},
		{nested, "https://git.example.com./payments/api", false},
		{nested, "https://git.example.com:/payments/api", false},
		{nested, "https://git.example.com:0443/payments/api", false},
		{nested, "https://git.example.com:443x/payments/api", false},
		{nested, "https://@git.example.com/payments/api", false},
		{nested, "https://evil.example@git.example.com@evil.example/payments/api", false},
		{nested, "https://git.example.com\\@evil.example/payments/api", false},
		{nested, "https://evil.example#@git.example.com/payments/api", false},
		{nested, "https://evil.example?@git.example.com/payments/api", false},
		{nested, "https://git.example.com%2Fpayments@evil.example/payments/api", false},
		{nested, "https://\u212Ait.example.com/payments/api", false},
		{"ssh://*/**", "ssh://-oProxyCommand=x/payments", false},
		{"ssh://*@*/**", "ssh://g%69t@git.example.com/x", false},
		{"https://*/**", "https:///payments/api", false},
		{"file://*/**", "file:///srv/git/payments", false},
		{"git@git.example.com:**", "git@git.example.com::payments", false},
		{"git@git.example.com:**", "git@git.example.com:../evil", false},
		{"git@git.example.com:**", "git@git.example.com:", false},
		{"*/**", "/srv/git/payments", false},
		{"*/**", "./payments", false},
		{"*/**", "", false},

		// Each part is matched alone.
		{"https://*.example.com/**", "https://git.example.com/payments/team/api", true},
		{"https://*.example.com/**", "https://evil.example/a.example.com/api", false},
		{"https://*.example.com/x", "https://evil.example:8443/a.example.com/x", false},
		{"{https,ssh}://*/x", "https://git.example.com:8443/x", true},
		{"*://git.example.com/x", "http://git.example.com/x", true},
		{"*://git.example.com/x", "https://evil.example/git.example.com/x", false},
		{"ssh://*@git.example.com/x", "ssh://git@git.example.com/x", true},
		{"ssh://*.example.com/x", "ssh://git@git.example.com/x", false},
		{"ssh://*.example.com/x", "ssh://git.example.com/x", true},
		{"git@git.example.com:**", "git@git.example.com:payments/team/api", true},
		{"https:**", "https://evil.example/x", false},
		{"git.example.com:**", "git.example.com://evil.example/x", false},
		{"*/*", "https://evil.example/x", false},

		// Encodings that have one spelling are part of the path.
		{"https://dev.azure.com/shop/My%20Project/_git/*", "https://dev.azure.com/shop/My%20Project/_git/web", true},
		{nested, "https://git.example.com/payments/%C3%A4", true},

		// A folder is not its .git.
		{"https://git.example.com/payments", "https://git.example.com/payments/.git", false},
		{payments, "https://git.example.com/payments/.git", true},
	} {
		t.Run(test.glob+" "+test.address[:min(len(test.address), 80)], func(t *testing.T) {
			t.Parallel()
			p, err := repository.compile(test.glob)
			if err != nil {
				t.Fatal(err)
			}
			normal, doubt := repository.normal(test.address)
			if got := p.matches(normal.list(), doubt); got != test.want {
				t.Errorf("got %v, want %v; the address is %q (%v)", got, test.want, normal, doubt)
			}
		})
	}
}

// An address that has a normal form matches itself as a glob, and never a glob
// for another host.
func FuzzAddress(f *testing.F) {
	for _, seed := range []string{
		"https://git.example.com/a/b.git", "git@git.example.com:a/b", "ssh://git:x@h:22/~u/%20", "h:5000/x", "https://u:p@h:443/.git/",
		"https://a@b@c/d", "https://a/../b", "x://y/z", "://x", ":x", "@:", "https://h.git",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		for _, r := range []reading{repository, keyAddress} {
			normal, err := r.normal(address)
			if err != nil {
				if normal != (parts{}) {
					t.Errorf("got %v beside the error %v", normal, err)
				}
				continue
			}
			if strings.ContainsAny(address, "*!,") || address == "" || len(address) > maxGlob {
				continue
			}
			p, err := r.compile(address)
			if err != nil {
				if r == keyAddress || !strings.Contains(address, "@") {
					t.Errorf("%q is no glob: %v", address, err)
				}
				continue
			}
			if !p.matches(normal.list(), nil) {
				t.Errorf("%q does not match itself, as %v", address, normal)
			}
		}
	})
}

var beforePath = regexp.MustCompile(`^([^:/]*)://(?:[^/@]*@)?([^/@]*)`)

// A match has a host that the host of the glob matches, whatever stands around it.
// The hosts are found as others find them.
func FuzzHost(f *testing.F) {
	for _, seed := range [][2]string{
		{"https://**.example.com/x", "https://evil.test/a.example.com/x"}, {"https://*.example.com/**", "https://evil.test/a.example.com/x"},
		{"https:**", "https://h/x"}, {"{https://,*}h/x", "https://a/h/x"}, {"ssh://*/x", "ssh://git@h/x"}, {"*://h:*/[a]", "HTTPS://H:1/a"},
		{"https://h[:/]*/x", "https://h:1/x"}, {`https://h\/*`, "https://h/x"}, {"https://*:443/x", "https://h:443/x"}, {"https://u@h/?", "https://v:w@h/x"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, address string) {
		for _, r := range []reading{repository, keyAddress} {
			p, fault := r.compile(text)
			normal, doubt := r.normal(address)
			if fault != nil || doubt != nil || p.any || !p.matches(normal.list(), nil) || !strings.Contains(address, "://") {
				continue
			}
			u, err := url.Parse(address)
			if err != nil {
				t.Fatalf("%q matches %q and is no URL: %v", address, text, err)
			}
			scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
			alternatives, err := expand(text)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(alternatives, func(alternative string) bool {
				found := beforePath.FindStringSubmatch(strings.ToLower(alternative))
				return found != nil && oneMatches(t, found[1], scheme) && oneMatches(t, withPort(found[2], found[1]), withPort(host, scheme))
			}) {
				t.Errorf("%q matches %q, whose host it is not", address, text)
			}
		}
	})
}

// withPort drops a port that does not count.
func withPort(host, scheme string) string {
	return strings.TrimSuffix(host, map[string]string{"https": ":443", "http": ":80", "ssh": ":22"}[scheme])
}

func oneMatches(t *testing.T, text, value string) bool {
	t.Helper()
	g, err := compileGlob(text, '/')
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return g.match(value)
}

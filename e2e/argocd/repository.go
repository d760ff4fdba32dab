package argocd

import (
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A Repository is a git repository in a temporary folder.
type Repository struct {
	Dir string // the work tree
	URL string // file://, or http:// once it is published
}

// NewRepository makes an empty repository that goes with the test.
func NewRepository(t testing.TB) *Repository {
	t.Helper()
	dir := t.TempDir()
	r := &Repository{Dir: dir, URL: "file://" + dir}
	r.git(t, "init", "--quiet", "--initial-branch=main")
	return r
}

// Publish serves the repository as a git server does, on loopback and below the
// path, and makes that its URL: a policy matches no file:// address.
func (r *Repository) Publish(t testing.TB, path string) {
	t.Helper()
	backend := &cgi.Handler{
		Path: filepath.Join(r.git(t, "--exec-path"), "git-http-backend"), Root: path,
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Join(r.Dir, ".git"), "GIT_HTTP_EXPORT_ALL=1"},
	}
	server := httptest.NewServer(backend) // of 127.0.0.1
	t.Cleanup(server.Close)
	r.URL = server.URL + path
}

// Copy copies the folder from into the work tree, as the folder to.
func (r *Repository) Copy(t testing.TB, from, to string) {
	t.Helper()
	if err := os.CopyFS(filepath.Join(r.Dir, to), os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// Write writes one file of the work tree.
func (r *Repository) Write(t testing.TB, file, content string) {
	t.Helper()
	file = filepath.Join(r.Dir, file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Replace replaces text, which must be there once, in a file of the work tree.
func (r *Repository) Replace(t testing.TB, file, before, after string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.Dir, file))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), before); n != 1 {
		t.Fatalf("%s: %q is there %d times, want once", file, before, n)
	}
	r.Write(t, file, strings.Replace(string(data), before, after, 1))
}

// Commit commits the whole work tree and returns the commit's id.
func (r *Repository) Commit(t testing.TB, message string) string {
	t.Helper()
	r.git(t, "add", "--all")
	r.git(t, "commit", "--quiet", "--message", message)
	return r.git(t, "rev-parse", "HEAD")
}

// Remove removes a file or folder of the work tree.
func (r *Repository) Remove(t testing.TB, path string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(r.Dir, path)); err != nil {
		t.Fatal(err)
	}
}

// git runs git without the configuration of whoever runs the tests, at a fixed
// time: the same files and messages give the same commits.
func (r *Repository) git(t testing.TB, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir = r.Dir
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.Dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=e2e", "GIT_AUTHOR_EMAIL=e2e@example.com", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME=e2e", "GIT_COMMITTER_EMAIL=e2e@example.com", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z",
	}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

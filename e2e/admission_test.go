package e2e

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"hallmark.dev/hallmark/e2e/cluster"
	"hallmark.dev/hallmark/e2e/process"
	"hallmark.dev/hallmark/e2e/wait"
)

// An admission is an API server that does to a pod all that a cluster's does.
// The one of package cluster leaves service accounts out, whose tokens are what
// is looked at here.
type admission struct {
	dir  string
	auth []string // flags of kubectl
}

// dryRun has the API server look at objects as if they were applied.
var dryRun = []string{"apply", "--server-side", "--dry-run=server", "--validate=strict", "--namespace=argocd", "-f", "-"}

func startAdmission(t testing.TB) *admission {
	t.Helper()
	dir := cluster.TempDir(t)
	start := func(name string, args ...string) *process.Process {
		return process.Start(t, process.Program{Name: name, Path: filepath.Join(*bin, name), Args: args, Home: dir, Logs: dir})
	}
	ports := cluster.Ports(t, 3)
	etcd, peer := cluster.Loopback("http", ports[0]), cluster.Loopback("http", ports[1])
	start("etcd", "--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls="+etcd, "--advertise-client-urls="+etcd,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer)

	token, tokens, key := rand.Text(), filepath.Join(dir, "tokens.csv"), filepath.Join(dir, "key.pem")
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}
	if err := errors.Join(
		os.WriteFile(tokens, []byte(token+`,admin,1,"system:masters"`+"\n"), 0o600),
		os.WriteFile(key, pem.EncodeToMemory(block), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	server := start("kube-apiserver", "--etcd-servers="+etcd,
		"--secure-port="+fmt.Sprint(ports[2]), "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", "--cert-dir="+dir, "--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+key, "--service-account-signing-key-file="+key,
		"--authorization-mode=RBAC", "--token-auth-file="+tokens)
	a := &admission{dir: dir, auth: []string{
		"--server=" + cluster.Loopback("https", ports[2]), "--token=" + token,
		"--certificate-authority=" + filepath.Join(dir, "apiserver.crt"),
	}}
	wait.Until(t, 2*time.Minute, "the API server is ready", func() error {
		if err := server.Ended(); err != nil {
			return err
		}
		_, err := a.run(nil, "get", "--raw", "/readyz")
		return err
	}, server.Tail)
	return a
}

// run runs kubectl and returns what it prints.
func (a *admission) run(input []byte, args ...string) ([]byte, error) {
	c := exec.Command(filepath.Join(*bin, "kubectl"), append(args, a.auth...)...)
	var stderr bytes.Buffer
	c.Stdin, c.Stderr = bytes.NewReader(input), &stderr
	c.Env = []string{"HOME=" + a.dir} // its cache, and no configuration
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("kubectl %q: %w\n%s", args, err, stderr.Bytes())
	}
	return out, nil
}

// kubectl fails the test where run fails.
func (a *admission) kubectl(t testing.TB, input []byte, args ...string) []byte {
	t.Helper()
	out, err := a.run(input, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

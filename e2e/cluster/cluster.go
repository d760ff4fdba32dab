// Package cluster runs a Kubernetes API server without nodes for tests: etcd,
// kube-apiserver and kube-controller-manager on loopback ports of their own, in
// a temporary folder. What nodes would report, the package reports itself (see
// nodes.go), so that Jobs complete and Deployments become available.
package cluster

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hallmark.dev/hallmark/e2e/process"
	"hallmark.dev/hallmark/e2e/wait"
)

// controllers are those that the tests need; each one more costs time.
const controllers = "deployment-controller,replicaset-controller,job-controller,disruption-controller,namespace-controller,garbage-collector-controller"

// A Cluster is a running API server.
type Cluster struct {
	// URL is the server's address, Token one that may do everything, and CA the
	// PEM that its certificate is checked against.
	URL, Token string
	CA         []byte
	// Kubeconfig is a file that holds the three.
	Kubeconfig string
	// Dir holds the cluster's files, Logs those of the programs. Both go with
	// the test.
	Dir, Logs string

	client *client
	nodes  sync.Map // a *Node for each namespace that has one
}

// Start starts a cluster from the programs in the folder bin. It stops with the
// test.
func Start(t testing.TB, bin string) *Cluster {
	t.Helper()
	// No service account is made, and no token is ever mounted.
	c := StartServer(t, bin, "--disable-admission-plugins=ServiceAccount")
	c.start(t, bin, "kube-controller-manager",
		"--kubeconfig="+c.Kubeconfig, "--service-account-private-key-file="+c.key(),
		"--use-service-account-credentials=false", "--leader-elect=false",
		"--controllers="+controllers, "--kube-api-qps=200", "--kube-api-burst=400",
		"--bind-address=127.0.0.1", "--secure-port="+fmt.Sprint(Ports(t, 1)[0]),
		"--cert-dir="+filepath.Join(c.Dir, "controller-manager"))
	c.playNodes(t)
	return c
}

// StartServer starts the API server alone, with the admission that a real
// cluster has but for what flags turn off. No controller runs.
func StartServer(t testing.TB, bin string, flags ...string) *Cluster {
	t.Helper()
	dir := TempDir(t)
	c := &Cluster{Dir: dir, Logs: filepath.Join(dir, "logs"), Token: rand.Text(), Kubeconfig: filepath.Join(dir, "kubeconfig.json")}
	if err := os.Mkdir(c.Logs, 0o700); err != nil {
		t.Fatal(err)
	}
	ports := Ports(t, 3)
	etcd, peer, api := ports[0], ports[1], ports[2]
	c.URL = Loopback("https", api)

	write(t, c.key(), newKey(t))
	tokens := filepath.Join(dir, "tokens.csv")
	write(t, tokens, []byte(c.Token+`,admin,1,"system:masters"`+"\n"))

	c.start(t, bin, "etcd",
		"--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls="+Loopback("http", etcd), "--advertise-client-urls="+Loopback("http", etcd),
		"--listen-peer-urls="+Loopback("http", peer), "--initial-advertise-peer-urls="+Loopback("http", peer),
		"--initial-cluster=default="+Loopback("http", peer), "--log-level=warn")
	certificates := filepath.Join(dir, "certificates")
	server := c.start(t, bin, "kube-apiserver", append(flags,
		"--etcd-servers="+Loopback("http", etcd),
		"--secure-port="+fmt.Sprint(api), "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // 127.0.0.1 is no address of an Endpoints object
		"--cert-dir="+certificates,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.key(), "--service-account-signing-key-file="+c.key(),
		"--authorization-mode=RBAC", "--token-auth-file="+tokens,
		"--service-cluster-ip-range=10.0.0.0/24")...)

	wait.Until(t, "the API server is ready", func() error {
		if err := server.Ended(); err != nil {
			return err
		}
		if c.client == nil {
			// The server writes its self-signed certificate when it starts.
			ca, err := os.ReadFile(filepath.Join(certificates, "apiserver.crt"))
			if err != nil {
				return err
			}
			if c.client, err = newClient(c.URL, c.Token, ca); err != nil {
				return err
			}
			c.CA = ca
		}
		_, err := c.Do("GET", "/readyz", "", nil)
		return err
	}, server.Tail)
	write(t, c.Kubeconfig, c.KubeconfigOf(t, c.Token))
	return c
}

// key is the file of the key that signs tokens of service accounts.
func (c *Cluster) key() string { return filepath.Join(c.Dir, "service-account.pem") }

func (c *Cluster) start(t testing.TB, bin, name string, args ...string) *process.Process {
	t.Helper()
	return process.Start(t, process.Program{
		Name: name, Path: filepath.Join(bin, name), Args: args, Home: c.Dir, Logs: c.Logs,
	})
}

// KubeconfigOf is a file for whoever has the token.
func (c *Cluster) KubeconfigOf(t testing.TB, token string) []byte {
	t.Helper()
	type object = map[string]any
	data, err := json.Marshal(object{
		"apiVersion": "v1", "kind": "Config", "current-context": "e2e",
		"clusters": []object{{"name": "e2e", "cluster": object{"server": c.URL, "certificate-authority-data": c.CA}}},
		"users":    []object{{"name": "e2e", "user": object{"token": token}}},
		"contexts": []object{{"name": "e2e", "context": object{"cluster": "e2e", "user": "e2e"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func newKey(t testing.TB) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
}

func write(t testing.TB, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TempDir makes a folder that goes with the test. Its name is short, which that
// of t.TempDir is not: the address of a unix socket has at most 107 bytes.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hallmark-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Ports returns n different loopback ports that were free a moment ago.
func Ports(t testing.TB, n int) []int {
	t.Helper()
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // all are held until the last is found
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports
}

// Loopback is the URL of a port on 127.0.0.1.
func Loopback(scheme string, port int) string {
	return strings.Join([]string{scheme, "://127.0.0.1:", fmt.Sprint(port)}, "")
}

package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"hallmark.dev/hallmark/e2e/cluster"
)

// dryRun has the API server look at objects as if they were applied.
var dryRun = []string{"apply", "--server-side", "--dry-run=server", "--validate=strict", "--namespace=argocd", "-f", "-"}

// A kubectl speaks to the API server of a cluster.
type kubectl struct{ cluster *cluster.Cluster }

// try runs it and returns what it prints.
func (k kubectl) try(input []byte, args ...string) ([]byte, error) {
	c := exec.Command(filepath.Join(*bin, "kubectl"), append(args, "--kubeconfig="+k.cluster.Kubeconfig)...)
	var stderr bytes.Buffer
	c.Stdin, c.Stderr = bytes.NewReader(input), &stderr
	c.Env = []string{"HOME=" + k.cluster.Dir} // its cache, and no configuration
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("kubectl %q: %w\n%s", args, err, stderr.Bytes())
	}
	return out, nil
}

// run fails the test where try fails.
func (k kubectl) run(t testing.TB, input []byte, args ...string) []byte {
	t.Helper()
	out, err := k.try(input, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

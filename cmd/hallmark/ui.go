package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"hallmark.dev/hallmark/internal/diag"
)

// Everything that hallmark says to a person stands in this file or in the error
// that a package returned.

const rootHelp = `hallmark renders Helm charts, kustomizations and plain YAML in memory with
pinned renderer versions, refuses what must not reach a cluster, and stamps each
object with its hash, the render it belongs to, its source revision and renderer.`

const rootExample = `  hallmark render examples/checkout > manifests.yaml
  hallmark verify manifests.yaml`

const renderHelp = `Render, gate and stamp the application in DIR (default: the current folder) and
print its manifests.

The renderer is found as Argo CD finds it: a kustomization, else a Helm chart,
else plain YAML. Parameters come from hallmark.yaml in DIR and from --param and
--params, which win. On failure nothing is printed but the reason.

SOPS files are decrypted in memory when they are read, with the keys that sops itself
would find and those of --keys. With --policy only what the platform team allows is
done, as in the plugin. Values that a chart makes at random are refused, or derived
from the seed of --seed-file (determinism=derive; see hallmark random).`

const renderExample = `  hallmark render examples/checkout
  hallmark render --app checkout --namespace shop --param 'value-files[]=values-production.yaml' examples/checkout
  hallmark render --param renderer=helm4 --param 'helm-parameters[replicas]=5' examples/checkout
  hallmark render --evidence checkout.json examples/checkout-kustomize/overlays/production
  hallmark render --policy policy.yaml --project shop --namespace shop examples/checkout
  hallmark render --param determinism=derive --seed-file seed-2027 examples/checkout`

const generateHelp = `Render, gate and stamp the application in the working folder from what Argo CD says
of it in the ARGOCD_* environment, as argocd-cmp-server runs it. On failure nothing
is printed but the reason. What the policy allows is decrypted with mounted keys, and
derived from a mounted seed.

The kernel bounds one variable of the environment at 128 KiB, and with it the
application's parameters; hallmark serve has no such bound.`

const generateExample = `  hallmark generate
  ARGOCD_APP_NAME=checkout ARGOCD_APP_NAMESPACE=shop hallmark generate -o json`

const serveHelp = `Answer Argo CD's repo-server as a config management plugin, on the socket
<name>.sock in the plugins folder, until SIGTERM or SIGINT. The repository of each
request is unpacked into memory, never to disk. What the policy allows is decrypted
there, or derived from a seed; the policy, the keys and the seeds are read again when
they change.

Logs go to standard error. --http-address serves /metrics for Prometheus, /healthz
and /readyz.`

const serveExample = `  hallmark serve
  hallmark serve --http-address :8087 --max-in-flight 8 --limit treeBytes=1073741824
  hallmark serve --name hallmark --plugin-version v1 --discover marked
  hallmark serve --policy /etc/hallmark/policy/policy.yaml --keys /etc/hallmark/keys --landlock require`

const verifyHelp = `Recompute the hashes of stamped manifests (default: standard input) and compare
them with their stamps. Says ok, or names each object that changed.`

const verifyExample = `  hallmark render examples/checkout | hallmark verify
  hallmark verify manifests.yaml`

const versionHelp = `Print the versions of hallmark and of what is compiled in: the renderers, sops, cel-go,
gopher-lua, and the Argo CD whose health checks and Lua VM are used.`

const versionExample = `  hallmark version
  hallmark version -o json`

const parametersHelp = `List the parameters of the application in the working folder as JSON, as
argocd-cmp-server runs it for the form in Argo CD's UI: each with a title, a tooltip,
its type and the value that counts where the Application gives none. The values of a
chart and the images of a kustomization are among them.

Where the sources cannot be read the list says nothing of them, and a warning says
why.`

const parametersExample = `  hallmark parameters
  ARGOCD_APP_NAME=checkout hallmark parameters | jq '.[] | select(.name == "helm-parameters").map'`

// describe is what printError prints, for an answer to Argo CD.
func describe(err error) string {
	var text strings.Builder
	printError(&text, err)
	return strings.TrimSuffix(text.String(), "\n")
}

// printError writes `hallmark: error: ...`, one line for each fault, with the place in
// the source below it where the fault has that, then the remedy where one is
// known. Argo CD shows the first line, so it stands alone.
func printError(w io.Writer, err error) {
	carets := excerpts(err)
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimRight(line, "\n"); line == "" {
			continue
		}
		fmt.Fprintf(w, "hallmark: error: %s\n", printable(line))
		for _, shown := range carets[line] {
			fmt.Fprintf(w, "    | %s\n", printable(shown))
		}
	}
	hint := diag.Hint(err)
	if hint == "" && isUsage(err) {
		hint = "see `hallmark --help`"
	}
	if hint != "" {
		fmt.Fprintf(w, "hallmark: hint: %s\n", printable(hint))
	}
}

// excerpts are the lines of the source, with a caret, that belong below the faults of
// an error, by the text of the fault.
func excerpts(err error) map[string][]string {
	var list diag.List
	var one *diag.Error
	if !errors.As(err, &list) && errors.As(err, &one) {
		list = diag.List{one}
	}
	shown := map[string][]string{}
	for _, fault := range list {
		shown[fault.Error()] = fault.Caret()
	}
	return shown
}

func printWarnings(w io.Writer, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintf(w, "hallmark: warning: %s\n", printable(warning))
	}
}

// printable replaces what a terminal acts on instead of showing it: a file name
// may hold escapes (C0 and C1 control characters) or turn the direction of the
// line around, so that it reads as another one.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

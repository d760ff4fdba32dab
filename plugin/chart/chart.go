// Package chart renders Helm charts in memory, with Helm 3 and with Helm 4.
//
// It gives what `helm template --include-crds` prints, object by object and in
// the same order, without a helm binary, a temporary folder or the network. It
// is the only importer of helm.sh/helm.
//
// # How a chart becomes objects
//
//	Load      reads the chart's folder through an io/fs tree (.helmignore applies)
//	prepare   builds a fresh Helm chart, merges values, decides on dependencies
//	scan      looks for template functions whose results differ between renders
//	execute   runs Helm's own engine
//	collect   splits, sorts and decodes the manifests as `helm template` does
//	prove     renders again, where scan found something, and compares
//	derive    gives what differs a value that does not, if that is asked for
//
// Helm's action package does not compile at the Kubernetes version that
// hallmark's dependencies share, so the steps around the engine stand here; the
// parity tests hold them against the real programs. Nothing is kept between two
// executions: each starts from the chart's bytes, because Helm's dependency
// processing and templates themselves (through `set`) change charts and values.
//
// # What differs from Helm on purpose
//
// plugin/testdata/differences.yaml is the table. What differs here: the order of
// charts/ and of --set flags, which in Helm and Argo CD is that of a Go map; the
// order of what `keys` gives; schema references out of the chart; and the
// versions that Helm assumes without a cluster (see capabilities.go).
package chart

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/derive"
)

// Engine is one of the compiled-in Helm versions.
type Engine string

// The engines, by the names that users give in the renderer parameter.
const (
	Helm3 Engine = "helm3"
	Helm4 Engine = "helm4"
)

// The versions that are compiled in. A test holds them against go.mod.
const (
	helm3Version = "v3.22.0"
	helm4Version = "v4.3.2"
)

// Version returns the version of Helm behind the engine, such as "v3.22.0".
func (e Engine) Version() string {
	if e == Helm4 {
		return helm4Version
	}
	return helm3Version
}

// Document is a named piece of YAML text.
type Document struct {
	// Name is shown in messages: a path in the repository or the name of a
	// parameter.
	Name string
	Data []byte
}

// Assignment is one `name=value` in the syntax of helm's --set flags: Name may
// be a path ("image.tag", "list[0]"), Value may be a list ("{a,b}").
type Assignment struct {
	Name, Value string
}

// Options says how a chart is rendered. The zero value renders with the
// defaults of `helm template`.
type Options struct {
	ReleaseName string
	Namespace   string
	// KubeVersion is the cluster's version ("1.31.2"); empty means Helm's default.
	KubeVersion string
	// APIVersions are added to the API versions that Helm knows by itself.
	APIVersions []string

	// Values are value documents in rising precedence, as from --values.
	Values []Document
	// Set, SetString and SetFile are applied after Values and in this order.
	// The value of a SetFile assignment is a path that ReadFile can read.
	Set, SetString, SetFile []Assignment
	// ReadFile returns the content of a SetFile path. It may be nil if SetFile
	// is empty.
	ReadFile func(name string) ([]byte, error)
	// Unseal decrypts a file of the chart that was encrypted when it was loaded, by
	// its path in the repository. It may be nil if there was none.
	Unseal func(name string) ([]byte, error)

	SkipCRDs, SkipHooks, SkipTests, SkipSchemaValidation bool

	// Prove says whether the output has to be shown to be the same at each
	// render, see Output.Findings.
	Prove bool
	// Derive says how the fields that differ from render to render get values that
	// do not. Where it is nil they are only found. It has no effect without Prove.
	Derive *derive.Options
	// MaxOutput bounds the bytes of text that the templates may produce
	// together; 0 means DefaultMaxOutput.
	MaxOutput int
}

// DefaultMaxOutput bounds the text that one chart may produce, in bytes.
const DefaultMaxOutput = 128 << 20

// Output is what one chart rendered to.
type Output struct {
	// Objects in the order of `helm template`: CRDs, manifests in install
	// order, hooks. Empty documents are left out; List kinds are not expanded.
	Objects []object.Object
	// Findings are the fields that differ from render to render, without those that
	// are Derived. They are only looked for if Options.Prove is set.
	Findings []Finding
	// Derived are the fields with a derived value, by their index in Objects; see
	// Options.Derive.
	Derived []derive.Derived
	// Secrets are the derived values that nobody may see.
	Secrets []string
	// Until is when a derived certificate is to be rendered anew; the zero time is
	// never.
	Until time.Time
	// Noticed lists template functions that were found in templates that took
	// part and that a reader of the evidence should know of ("lookup").
	Noticed []string
	// Warnings are things that Helm accepts and a reviewer would not.
	Warnings []string

	texts []printed
}

// Stream returns the objects as the YAML text that `helm template` prints.
func (o *Output) Stream() []byte {
	size := 0
	for _, t := range o.texts {
		size += len(t.source) + len(t.body) + len("---\n# Source: \n\n")
	}
	out := make([]byte, 0, size)
	for _, t := range o.texts {
		out = fmt.Appendf(out, "---\n# Source: %s\n%s\n", t.source, t.body)
	}
	return out
}

// Render renders the chart with one of the engines. A template that never ends
// cannot be stopped: Render returns when it does, and notices ctx before and
// after.
func (c *Chart) Render(ctx context.Context, engine Engine, o Options) (*Output, error) {
	if o.MaxOutput == 0 {
		o.MaxOutput = DefaultMaxOutput
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out, err := guarded(func() (*Output, error) { return c.renderSealed(ctx, engine, o) })
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return out, err
}

// guarded turns a panic into an error. Helm recovers from panics in its
// templates, but not from those in its loader, its value merging and its schema
// validation.
func guarded(render func() (*Output, error)) (out *Output, err error) {
	defer func() {
		if recover() != nil {
			out, err = nil, ErrPanic
		}
	}()
	return render()
}

// ErrPanic stands for a panic inside Helm, whose value may quote a secret.
var ErrPanic = errors.New("helm panicked while rendering the chart")

func (c *Chart) render(ctx context.Context, engine Engine, o Options) (*Output, error) {
	first, err := c.prepare(engine, o)
	if err != nil {
		return nil, err
	}
	if o.SkipCRDs {
		first.crds = nil
	}
	addCRDs := c.decodeCRDs(first.crds)
	found := scan(first, suspects)
	first.rewrite(found.sortKeys)
	rendered, err := first.execute(o.MaxOutput)
	if err != nil {
		return nil, err
	}
	manifests, err := collect(engine, rendered, o)
	if err != nil {
		return nil, err
	}
	out := &Output{Noticed: found.noticed, Warnings: first.warnings}
	if err := addCRDs(out); err != nil {
		return nil, err
	}
	if o.Prove {
		p, err := c.prove(ctx, engine, o, found, rendered, manifests)
		if err != nil {
			return nil, err
		}
		out.Findings = p.findings
		manifests = out.settle(p.manifests, p.resolved)
	}
	out.addManifests(manifests)
	return out, nil
}

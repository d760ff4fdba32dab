package plugin

import (
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"hallmark.dev/hallmark/internal/evidence"
	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/redact"
	"hallmark.dev/hallmark/plugin/source"
	"hallmark.dev/hallmark/plugin/stamp"
)

// The renderers, by the names of the renderer parameter.
const (
	RendererHelm3     = "helm3"
	RendererHelm4     = "helm4"
	RendererKustomize = "kustomize"
	RendererPlain     = "plain"
)

// The values of the determinism parameter.
const (
	DeterminismEnforce = "enforce"
	DeterminismDerive  = "derive"
	DeterminismWarn    = "warn"
)

// Request is one application to render.
type Request struct {
	Tree *source.Tree
	// Path is the application's folder in the tree, "." for the root.
	Path string

	// App is the application's name. For applications outside Argo CD's own
	// namespace it is "<namespace>_<name>", as Argo CD sends it.
	App       string
	Namespace string // the destination's namespace
	Project   string
	RepoURL   string
	// Revision is the commit that Tree holds; TargetRevision is what the
	// Application asked for, such as a branch.
	Revision, TargetRevision string

	// KubeVersion ("1.31.2") and APIVersions ("apps/v1", "apps/v1/Deployment")
	// describe the destination cluster. The parameters of these names win.
	KubeVersion string
	APIVersions []string

	// Env holds further variables that parameters may refer to as $NAME.
	Env map[string]string

	Parameters Parameters
	// Refs are the sources that value files may refer to as $name/path: each a folder
	// "$name" of Tree (see source.Tree.With). repo-server sends a plugin none.
	Refs []string
	// Helm is the Helm that renders charts in place of the one that parameters or
	// discovery give, RendererHelm3 or RendererHelm4; a pinned version does not count
	// then. It is empty but for a preview.
	Helm string
	// Tolerant makes DeterminismWarn the default where neither parameters nor the
	// policy say something, for a preview or a review, and takes it for
	// DeterminismDerive where there are no Seeds.
	Tolerant bool
	Limits   Limits
	// Policy is what the platform team allows, and more than the application's
	// wishes; its limits win over Limits. Nil means that nothing is decrypted and
	// that the rest is as the application asks.
	Policy *Policy
	// Keys are where the private keys for SOPS files are.
	Keys Keys
	// HashKey keys the hashes of Secret values. Without it they are left out.
	HashKey stamp.Key
	// Seeds are what values are derived from with determinism=derive, where the policy
	// allows that: the first, or the one that the parameter random-seed names.
	Seeds []Seed
	// Version is hallmark's own version, for the evidence.
	Version string

	// Review asks for what all release rules find that the policy does not switch
	// off, and refuses the render for none of it.
	Review bool
	// Today is the time of the request. It decides which waivers have expired, and how
	// long derived certificates are valid; the zero time is before all waivers.
	Today time.Time
	// HealthChecked reports whether Argo CD can tell the health of a custom
	// resource, beside those that the policy names. It is the same for all requests
	// of a Cache. Nil means that it can of none.
	HealthChecked func(group, kind string) bool
	// Found is called with the findings where release rules are checked, before the
	// render is refused for one. It may be nil.
	Found func(findings []Finding)

	// Stage is called when a stage begins, with the renderer's name ("helm3") or
	// "" where it is as before. It may be nil. A render whose time is over may
	// still call it.
	Stage func(stage Stage, renderer string)
	// Ended is called when nothing works on the request any more, which can be
	// long after the answer: an engine cannot be stopped. It may be nil.
	Ended func()
}

// Stage is a part of a render.
type Stage string

// The stages, in their order.
const (
	StageLoad   Stage = "load"   // parameters and the files of a chart
	StageRender Stage = "render" // the engine, with the proof that its output is stable
	StageGate   Stage = "gate"
	StageStamp  Stage = "stamp"
)

// Repository is the repository's URL without what may be a credential: what logs
// and records show.
func (r *Request) Repository() string { return redact.Repository(r.RepoURL) }

func (r *Request) enter(stage Stage, renderer string) {
	if r.Stage != nil {
		r.Stage(stage, renderer)
	}
}

// Result is a rendered, gated and stamped application.
type Result struct {
	// Objects in the renderer's order, List kinds expanded, stamped.
	Objects []object.Object
	// RenderHash is the hash of the manifest set, ObjectHashes those of Objects
	// in their order: "sha256:<hex>".
	RenderHash   string
	ObjectHashes []string
	// Provenance is what was stamped besides the hashes of objects.
	Provenance stamp.Provenance
	// Decrypted are the SOPS files that were decrypted for it, sorted by path.
	Decrypted []Decrypted
	// Derived are the fields whose values were derived from a seed, in the order of the
	// charts' documents.
	Derived []Derived
	// Warnings are one line each, for people; they never hold values.
	Warnings []string
	// Findings are those of the release rules, in the order of their places, where
	// the policy or [Request.Review] asks for them. They hold no decrypted value.
	Findings []Finding
	// Evidence is the record of this render.
	Evidence evidence.Record

	key     cacheKey // see Again
	view    *source.View
	helm    string
	secrets *secrets
	waivers time.Time // the first instant at which a waiver runs out, see rules.WaivedUntil
	renewed time.Time // when a derived certificate is made anew; the zero time is never
}

// Limits bound one render. A field that is zero takes its value from
// DefaultLimits.
type Limits struct {
	// Objects is the largest number of objects.
	Objects int
	// OutputBytes bounds the text that the templates of one chart produce.
	OutputBytes int
	// MemoryBytes bounds by how much the heap may grow while rendering, as the
	// garbage collector sees it: with a margin of what is not collected yet.
	MemoryBytes int64
	// RenderTime bounds the whole render.
	RenderTime time.Duration
}

// DefaultLimits are 20,000 objects, 128 MiB of text, 2 GiB of heap and 80
// seconds: Argo CD itself gives up after 90.
func DefaultLimits() Limits {
	return Limits{Objects: 20_000, OutputBytes: 128 << 20, MemoryBytes: 2 << 30, RenderTime: 80 * time.Second}
}

func (l Limits) orDefault() Limits {
	def := DefaultLimits()
	if l.Objects <= 0 {
		l.Objects = def.Objects
	}
	if l.OutputBytes <= 0 {
		l.OutputBytes = def.OutputBytes
	}
	if l.MemoryBytes <= 0 {
		l.MemoryBytes = def.MemoryBytes
	}
	if l.RenderTime <= 0 {
		l.RenderTime = def.RenderTime
	}
	return l
}

// instance is the application's name without the namespace that Argo CD puts in
// front of it: a release name must not hold an underscore.
func (r *Request) instance() string {
	if _, name, found := strings.Cut(r.App, "_"); found {
		return name
	}
	return r.App
}

// environment is Argo CD's build environment (reposerver newEnv), the names that
// parameters of native sources may refer to, and Env on top of it.
func (r *Request) environment() map[string]string {
	env := map[string]string{
		"ARGOCD_APP_NAME":                   r.App,
		"ARGOCD_APP_NAMESPACE":              r.Namespace,
		"ARGOCD_APP_PROJECT_NAME":           r.Project,
		"ARGOCD_APP_REVISION":               r.Revision,
		"ARGOCD_APP_REVISION_SHORT":         r.Revision[:min(7, len(r.Revision))],
		"ARGOCD_APP_REVISION_SHORT_8":       r.Revision[:min(8, len(r.Revision))],
		"ARGOCD_APP_SOURCE_REPO_URL":        r.RepoURL,
		"ARGOCD_APP_SOURCE_PATH":            r.Path,
		"ARGOCD_APP_SOURCE_TARGET_REVISION": r.TargetRevision,
	}
	maps.Copy(env, r.Env)
	return env
}

// expand replaces $NAME and ${NAME} as Argo CD does: an unknown name gives
// nothing, $$ gives a dollar sign.
func expand(s string, env map[string]string) string {
	if !strings.Contains(s, "$") {
		return s
	}
	return os.Expand(s, func(name string) string {
		if name == "$" {
			return "$"
		}
		return env[name]
	})
}

func expandMap(m, env map[string]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		out[k] = expand(v, env)
	}
	return out
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

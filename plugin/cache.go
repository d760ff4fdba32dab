package plugin

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"hallmark.dev/hallmark/plugin/chart"
	"hallmark.dev/hallmark/plugin/source"
	"hallmark.dev/hallmark/plugin/stamp"
)

// A Cache answers a render from memory where nothing that it depends on has
// changed, and stamps the answer with the revision that was asked for.
//
// It looks for an earlier request with the same key: application, parameters as
// they took effect, cluster versions, renderer, limits. An answer holds together
// with what its render asked of the repository, absent files and the listings of
// folders included ([source.Trace]), and is given again for a tree that answers
// all of it in the same way. So it is keyed by what the inputs hash counts, and
// by more: a file that is only now there, or that a glob would find, is noticed.
//
// Only answers are kept, as the bytes that go to Argo CD, and charts as the files
// in which they were found. A refused render is not kept, and nothing for which a
// file was decrypted or a value was derived: plaintext ends with its request. With
// determinism=warn, an answer from memory has the random values and the time of the
// render that it is from.
//
// A Cache is safe for concurrent use. A nil Cache keeps nothing.
type Cache struct {
	answers *store[cacheKey, []kept]
	charts  *charts
}

type cacheKey [sha256.Size]byte

// kept is an answer with what it depends on.
type kept struct {
	trace     source.Trace
	manifests []manifest
	answer    Answer // without Manifests and the revision
	// until is when a waiver runs out, and with it the answer; the zero time is
	// never.
	until time.Time
}

// alternatives is how many answers are kept under one key: two branches of a
// repository in turn, and a commit that is reverted.
const alternatives = 3

// NewCache returns a cache of about maxBytes, half of them for charts; none means
// that nothing is kept.
func NewCache(maxBytes int64) *Cache {
	return &Cache{answers: newStore[cacheKey, []kept](maxBytes / 2), charts: newStore[[sha256.Size]byte, *chart.Chart](maxBytes / 2)}
}

// Bytes is about how much memory the cache holds.
func (c *Cache) Bytes() int64 {
	if c == nil {
		return 0
	}
	return c.answers.size() + c.charts.size()
}

// Answer is a rendered, gated and stamped application in the form that goes to
// Argo CD.
type Answer struct {
	// Manifests are the objects as compact JSON, one string for each.
	Manifests  []string
	RenderHash string
	Provenance stamp.Provenance
	Warnings   []string
	// Decrypted are the SOPS files that were decrypted for it.
	Decrypted []Decrypted
	// Derived are the fields whose values were derived.
	Derived []Derived
	// Seed is the id of the seed, or "".
	Seed string
	// Cached says that no engine ran.
	Cached bool
}

// Render is [Render] with the objects printed, from memory where that is
// possible.
func (c *Cache) Render(ctx context.Context, r *Request) (*Answer, error) {
	return within(ctx, r, func(ctx context.Context, crew *crew) (*Answer, error) {
		s, err := r.open(ctx, crew, false)
		if err != nil {
			return nil, err
		}
		if c == nil {
			c = &Cache{}
		}
		s.in.charts = c.charts
		key, err := s.key()
		if err != nil {
			return nil, err
		}
		earlier, _ := c.answers.get(key)
		for _, k := range earlier {
			if (k.until.IsZero() || r.Today.Before(k.until)) && k.trace.Same(r.Tree) {
				return k.again(r.Revision), nil
			}
		}
		result, err := s.render(ctx)
		if err != nil {
			return nil, err
		}
		fresh := kept{s.view.Trace(), printManifests(result.Objects), Answer{
			RenderHash: result.RenderHash, Provenance: result.Provenance, Warnings: result.Warnings,
			Decrypted: result.Decrypted, Derived: result.Derived, Seed: result.Evidence.Seed,
		}, result.waivers}
		if ctx.Err() == nil && len(result.Decrypted) == 0 && len(result.Derived) == 0 {
			c.keep(key, fresh, earlier)
		}
		answer := fresh.again(r.Revision)
		answer.Cached = false
		return answer, nil
	})
}

// keep puts fresh in front of the answers that were there, as many as there is
// room for.
func (c *Cache) keep(key cacheKey, fresh kept, earlier []kept) {
	all, cost := []kept{fresh}, fresh.bytes()
	for _, k := range earlier[:min(len(earlier), alternatives-1)] {
		if c.answers == nil || cost+k.bytes() > c.answers.most {
			break
		}
		all, cost = append(all, k), cost+k.bytes()
	}
	c.answers.put(key, all, cost)
}

func (k *kept) again(revision string) *Answer {
	a := k.answer
	a.Cached = true
	a.Provenance.SourceRevision = revision
	a.Manifests = joinRevision(k.manifests, revision)
	return &a
}

func (k *kept) bytes() int64 {
	const each = 64 // the two strings' headers, and what the allocator rounds up
	size := k.trace.Bytes() + sha256.Size
	for _, m := range k.manifests {
		size += int64(len(m.head)+len(m.tail)) + each
	}
	for _, w := range k.answer.Warnings {
		size += int64(len(w))
	}
	return size
}

// key covers everything in the request and the settled parameters that can show
// in an answer, but for the tree and the revision. The revision shows in the
// answer where a parameter refers to it; that is part of the parameters then.
func (s *session) key() (cacheKey, error) {
	in := s.in
	data, err := json.Marshal(map[string]any{
		"app": s.App, "namespace": s.Namespace, "project": s.Project, "repository": s.RepoURL,
		"folder": in.Dir, "renderer": s.renderer.Version(), "hallmark": s.Version,
		"kubeVersion": in.KubeVersion, "apiVersions": in.APIVersions, "limits": in.Limits,
		"parameters": in.Parameters.expanded(in.Env), "raw": in.Parameters.given(),
		"variables": slices.Sorted(maps.Keys(in.Env)), "refs": in.Refs,
		"rule":   s.rule,
		"review": s.Review,
		"derive": in.Derive != nil, "seed": fmt.Sprintf("%x", s.seed.digest),
		"keyed": s.HashKey != nil, "hashKey": fmt.Sprintf("%x", sha256.Sum256(s.HashKey)),
		"revision": s.Revision != "",
	})
	if err != nil {
		return cacheKey{}, fmt.Errorf("hashing the request: %w", err)
	}
	return sha256.Sum256(data), nil
}

// charts keeps loaded charts by what is in them: the custom resource definitions
// of one, megabytes that hardly ever change, are decoded, hashed and searched
// once.
type charts = store[[sha256.Size]byte, *chart.Chart]

// loadChart reads the chart in dir, or takes the one of known that is the same.
func loadChart(known *charts, fsys fs.FS, dir string) (*chart.Chart, error) {
	ch, err := chart.Load(fsys, dir)
	if err != nil || known == nil || ch.HoldsSecrets() {
		return ch, err
	}
	digest := ch.Digest()
	if same, found := known.get(digest); found {
		return same, nil
	}
	// Decoded data takes several times the space of its text.
	const decoded = 6
	known.put(digest, ch, decoded*ch.Size())
	return ch, nil
}

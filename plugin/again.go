package plugin

import (
	"context"
	"strings"
)

// Again reports whether other would give the objects of the result again, but for the
// revision in their stamps: nothing that other asks for is different, and its tree
// answers all that the render asked of the other one in the same way. What was
// decrypted does not count as the same, since keys may differ; what was derived does
// with the same seed, until a certificate is made anew.
func (r *Result) Again(ctx context.Context, other *Request) (bool, error) {
	if len(r.Decrypted) > 0 || !r.renewed.IsZero() && !other.Today.Before(r.renewed) {
		return false, nil
	}
	same := *other
	if !strings.Contains(r.Provenance.Renderer, "helm") {
		same.Helm = r.helm // no chart took part, so it does not matter
	}
	return within(ctx, &same, func(ctx context.Context, c *crew) (bool, error) {
		s, err := same.open(ctx, c, false)
		if err != nil {
			return false, err
		}
		key, err := s.key()
		if err != nil || key != r.key {
			return false, err
		}
		return r.view.Trace().Same(same.Tree), nil
	})
}

// Hide takes the values that were decrypted or derived for the render out of a text
// that people read.
func (r *Result) Hide(text string) string { return r.secrets.Text(text) }

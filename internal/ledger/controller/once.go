package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hallmark.dev/hallmark/internal/ledger/projection"
)

// Outcome is what became of an object.
type Outcome struct {
	Namespace, Name string
	Status          projection.Status // that it has now, or was to have
	Err             error             // why it was not written, or holds what was read before
}

// maxNamed is how many objects or databases an error names.
const maxNamed = 10

// Once brings every status up to date, once. The outcomes are in the order of namespaces
// and names. The error names databases that could not be read, and objects whose status
// could not be written.
func (c *Controller) Once(ctx context.Context) ([]Outcome, error) {
	bySource := map[source][]*known{}
	for options := (metav1.ListOptions{Limit: pageSize}); ; {
		list, err := c.api.list(ctx, options)
		if err != nil {
			return nil, explain("listing MigrationLedgers", err)
		}
		for i := range list.Items {
			s := list.Items[i].Spec.Source()
			bySource[s] = append(bySource[s], &list.Items[i])
		}
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	var outcomes []Outcome
	var problems []error
	for _, s := range sorted(bySource) {
		reading, err := c.read(ctx, s, bySource[s])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		unread := err
		if err != nil {
			problems = append(problems, fmt.Errorf("database %q: %w", s.Database, err))
		}
		written := map[*known]bool{}
		c.write(ctx, bySource[s], reading, func(k *known, status projection.Status, err error) {
			if written[k] = true; errors.Is(err, errGone) {
				return
			}
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", name(k), err))
			}
			outcomes = append(outcomes, Outcome{k.Namespace, k.Name, status, errors.Join(err, unread)})
		})
		for _, k := range bySource[s] {
			if !written[k] && k.DeletionTimestamp == nil {
				err := errors.New("not tried: too many writes failed before it")
				problems = append(problems, fmt.Errorf("%s: %w", name(k), err))
				outcomes = append(outcomes, Outcome{k.Namespace, k.Name, k.Status, err})
			}
		}
	}
	slices.SortFunc(outcomes, func(a, b Outcome) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return outcomes, join(problems)
}

// join is one error of several, a line for each of the first.
func join(problems []error) error {
	if more := len(problems) - maxNamed; more > 0 {
		problems = append(problems[:maxNamed:maxNamed], fmt.Errorf("and %d more", more))
	}
	return errors.Join(problems...)
}

// sorted are the sources in an order that does not change.
func sorted(of map[source][]*known) []source {
	var sources []source
	for s := range of {
		sources = append(sources, s)
	}
	slices.SortFunc(sources, func(a, b source) int { return strings.Compare(key(a), key(b)) })
	return sources
}

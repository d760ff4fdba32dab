package main

import (
	"slices"
	"testing"

	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/policy"
)

// Package policy does not know the pipeline, and has to know its names.
func TestPolicyNames(t *testing.T) {
	t.Parallel()
	want := []string{plugin.RendererHelm3, plugin.RendererHelm4, plugin.RendererKustomize, plugin.RendererPlain}
	if got := policy.Renderers(); !slices.Equal(got, want) {
		t.Errorf("got the renderers %q, want %q", got, want)
	}
	if policy.Enforce != plugin.DeterminismEnforce || policy.Warn != plugin.DeterminismWarn {
		t.Error("the values of determinism differ")
	}
}

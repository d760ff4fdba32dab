// Package apitest is a small API server for tests: it lists and watches MigrationLedgers
// and takes their status by server-side apply, over HTTP, as kube-apiserver does. It
// refuses everything else, and what a test tells it to refuse.
//
// It is no proof of what kube-apiserver does; package e2e has that. It is for what a
// real one does not do at will: to be busy, to forbid, to lose an object at the worst
// moment, and to say what it was asked.
package apitest

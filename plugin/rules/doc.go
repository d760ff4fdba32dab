// Package rules holds the release rules behind "hallmark lint" and the render
// policy: hooks, jobs, sync waves, ownership and references between objects.
//
// A rule reads the objects of a render and reports positioned findings; it never
// changes an object, and it needs no cluster. What must never pass, whatever the
// policy, is no rule but belongs to package gate.
package rules

// Package library embeds the health specs that ship with hallmark, one folder for
// each API group, each spec with its cases. It holds data only.
//
// A case whose name begins with A and a number is what the argo-cd issue of that
// number was about. Where a spec says something else than Argo CD's own script on one
// of its fixtures, that stands in differences.yaml with the reason.
package library

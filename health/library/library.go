package library

import "embed"

// Files holds the specs, <group>/<kind>.yaml, and the cases of each beside it,
// <group>/<kind>_test.yaml.
//
//go:embed */*.yaml
var Files embed.FS

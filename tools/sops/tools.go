//go:build tools

// Package tools pins SOPS, the reference that hallmark's decryption is
// compared with. It is a module of its own because the program's dependencies do not
// build together with hallmark's; `make tools` builds it into ./bin.
package tools

import _ "github.com/getsops/sops/v3/cmd/sops"

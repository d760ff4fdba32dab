package vm

// The versions of what scripts run in, as go.mod has them.
const (
	// ArgoCD is the release whose util/lua runs scripts and whose own scripts
	// Builtins lists.
	ArgoCD = "v2.14.21"
	// Lua is gopher-lua's, which is Lua 5.1 with goto.
	Lua = "v1.1.1"
)

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/policy"
)

// defaultKeys is the folder where a platform team mounts private keys.
const defaultKeys = "/etc/hallmark/keys"

// policyVariable names the policy in a sidecar's environment, for the commands that
// argocd-cmp-server runs there. The variables of an Application have other names:
// Argo CD puts ARGOCD_ENV_ in front of them.
const policyVariable = "HALLMARK_POLICY"

// trustFlags are what a platform team, or the caller on a laptop, decides, and no
// Application: the policy, the keys and the seeds.
type trustFlags struct {
	policy string
	keys   []string
	seeds  seedFlags
}

func (f *trustFlags) registerPolicy(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&f.policy, "policy", "", "`file` of the RenderPolicy ("+usage+")")
}

func (f *trustFlags) registerKeys(cmd *cobra.Command, usage string) {
	cmd.Flags().StringArrayVar(&f.keys, "keys", nil, "`file` with private keys for SOPS files (age, SSH or PGP), or folder of such files (repeatable; "+usage+")")
}

const (
	pluginPolicy = "default: $" + policyVariable + ", else " + policy.DefaultFile + ", where it exists"
	pluginKeys   = "default: " + defaultKeys + ", where it exists; beside what the variables of sops name"
)

// pluginTrust is what counts in the plugin: the mounted policy and the mounted
// keys. No program is started for a key.
func (env *environment) pluginTrust(f *trustFlags) (*plugin.Policy, plugin.Keys, error) {
	env.policyFrom(f)
	// As with keys: a relative path would be one of the repository.
	if f.policy != "" && !filepath.IsAbs(f.policy) {
		return nil, plugin.Keys{}, fmt.Errorf("--policy: got %q, want an absolute path", f.policy)
	}
	p, err := f.mounted()
	if err != nil {
		return nil, plugin.Keys{}, err
	}
	keys, err := env.pluginKeys(f)
	return p, keys, err
}

// policyFrom takes the policy that the environment names, where no flag does.
func (env *environment) policyFrom(f *trustFlags) {
	f.policy = cmp.Or(f.policy, env.getenv(policyVariable))
}

// mounted is the policy of the plugin.
func (f *trustFlags) mounted() (*plugin.Policy, error) {
	if f.policy != "" {
		return policy.Load(f.policy)
	}
	p, err := policy.Load(policy.DefaultFile)
	if errors.Is(err, fs.ErrNotExist) {
		return policy.None(), nil
	}
	return p, err
}

// keyVariables are those that lead to files of keys.
var keyVariables = []string{"SOPS_AGE_KEY_FILE", "SOPS_AGE_SSH_PRIVATE_KEY_FILE", "GNUPGHOME", "XDG_CONFIG_HOME", "HOME"}

func (env *environment) pluginKeys(f *trustFlags) (plugin.Keys, error) {
	paths := f.keys
	if len(paths) == 0 {
		if _, err := os.Stat(defaultKeys); err == nil {
			paths = []string{defaultKeys}
		}
	}
	// A relative path would name a file of the repository where that is the
	// working folder.
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			return plugin.Keys{}, fmt.Errorf("--keys: got %q, want an absolute path", path)
		}
	}
	for _, name := range keyVariables {
		if path := env.getenv(name); path != "" && !filepath.IsAbs(path) {
			return plugin.Keys{}, fmt.Errorf("%s: got %q, want an absolute path", name, path)
		}
	}
	return plugin.Keys{Paths: paths, Getenv: env.getenv, Home: env.getenv("HOME")}, nil
}

// outOfRepository refuses a policy, keys and seeds that lie in the repository: whoever
// may write there would choose them, and the keys were committed.
func (env *environment) outOfRepository(root string, f *trustFlags, keys plugin.Keys) error {
	if inside(root, f.policy) {
		return diag.WithHint(fmt.Errorf("the policy %q lies in the repository", f.policy), "mount it elsewhere: it bounds those who can write there")
	}
	paths := slices.Clone(keys.Paths)
	for _, name := range keyVariables {
		paths = append(paths, env.getenv(name))
	}
	for _, path := range paths {
		if inside(root, path) {
			return diag.WithHint(fmt.Errorf("the keys %q lie in the repository", path), "mount them elsewhere, and treat them as known to all who can read the repository")
		}
	}
	return f.seeds.outOfRepository(root)
}

// inside reports whether a path leads to root or below. What is not there does not.
func inside(root, path string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	if path == "" || err != nil {
		return false
	}
	rel, err := filepath.Rel(root, resolved)
	return err == nil && filepath.IsLocal(rel)
}

// callerTrust is what counts on a laptop: what the caller's own keys open, unless a
// policy says less.
func (env *environment) callerTrust(f *trustFlags) (*plugin.Policy, plugin.Keys, error) {
	keys := plugin.Keys{Paths: f.keys, Getenv: env.getenv, Home: env.getenv("HOME"), Programs: true}
	if f.policy == "" {
		return policy.Caller(), keys, nil
	}
	p, err := policy.Load(f.policy)
	return p, keys, err
}

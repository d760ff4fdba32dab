package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/plugin"
	"hallmark.dev/hallmark/plugin/source"
)

// workingFlags are those of the commands that argocd-cmp-server runs in the
// folder of an application.
type workingFlags struct {
	root   string
	limits limitFlags
	trust  trustFlags
}

func (f *workingFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.root, "root", "", "`folder` that paths may not leave (default: where argocd-cmp-server unpacked the repository, else what ARGOCD_APP_SOURCE_PATH leaves of the working folder)")
	f.limits.register(cmd)
	f.trust.registerPolicy(cmd, pluginPolicy)
}

// working adds the working folder, and the flags, to what the environment says.
func (env *environment) working(f *workingFlags, r *plugin.Request) error {
	treeLimits, err := f.limits.set(&r.Limits)
	if err != nil {
		return err
	}
	dir, err := folder(".")
	if err != nil {
		return err
	}
	root, err := env.workingRoot(f.root, dir, r.Path)
	if err != nil {
		return err
	}
	sent, err := sentFolder(root, dir, r.Path)
	if err != nil {
		return err
	}
	if r.Policy, r.Keys, err = env.pluginTrust(&f.trust); err != nil {
		return err
	}
	if err := env.outOfRepository(root, &f.trust, r.Keys); err != nil {
		return err
	}
	part := plugin.PartOfRepository(r.Path, sent)
	tree, err := source.Dir(root, r.TreeLimits(treeLimits))
	if err != nil {
		return err
	}
	r.Tree, r.Path = tree.Below(part), filepath.ToSlash(filepath.Join(part, sent))
	r.Version = hallmarkVersion()
	return nil
}

// workingRoot is the folder that was unpacked for an application in dir. That of
// argocd-cmp-server is a folder with a random name below its work folder
// (GetCMPWorkDir in Argo CD's common); it may hold a part of the repository only.
func (env *environment) workingRoot(flag, dir, sourcePath string) (string, error) {
	if flag != "" {
		return folder(flag)
	}
	base := env.getenv("ARGOCD_CMP_WORKDIR")
	if base == "" {
		base = os.TempDir()
	}
	if base, err := folder(filepath.Join(base, "_cmp_server")); err == nil {
		if rel, err := filepath.Rel(base, dir); err == nil && rel != "." && filepath.IsLocal(rel) {
			first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
			return filepath.Join(base, first), nil
		}
	}
	if root, found := strings.CutSuffix(dir, filepath.Join("/", filepath.FromSlash(sourcePath))); found && root != "" {
		return root, nil
	}
	return dir, nil
}

// sentFolder is the path of the folder dir in what was unpacked. The Application
// can name it through a link, and a process is told the folder that this leads to;
// the render, and its inputs hash, are of the path that was named.
func sentFolder(root, dir, sourcePath string) (string, error) {
	for named := strings.Trim(path.Clean("/"+sourcePath), "/"); named != ""; {
		if resolved, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(named))); err == nil && resolved == dir {
			return named, nil
		}
		_, named, _ = strings.Cut(named, "/") // only a part of the repository was sent
	}
	return within(root, dir)
}

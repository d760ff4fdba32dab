package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin"
)

// seedVariable names the files of seeds in a sidecar's environment, a list as that of
// PATH. As with policyVariable no Application can set it.
const seedVariable = "HALLMARK_SEED_FILES"

// seedFlags name the files of the seeds that values are derived from.
type seedFlags struct{ files []string }

func (f *seedFlags) register(cmd *cobra.Command, usage string) {
	cmd.Flags().StringArrayVar(&f.files, "seed-file", nil, "`file` with a seed, of 32 random bytes or more, from which determinism=derive makes values (repeatable; the first counts where random-seed names no other by the name of its file; "+usage+")")
}

const (
	callerSeeds = "default: none"
	pluginSeeds = "default: the list in $" + seedVariable
)

// pluginFiles are the files that count in the plugin.
func (f *seedFlags) pluginFiles(env *environment) ([]string, error) {
	if len(f.files) == 0 {
		f.files = filepath.SplitList(env.getenv(seedVariable))
	}
	for _, file := range f.files {
		// As with keys: a relative path would be one of the repository.
		if !filepath.IsAbs(file) {
			return nil, fmt.Errorf("--seed-file: got %q, want an absolute path", file)
		}
	}
	return f.files, nil
}

// callers are the seeds of whoever renders a repository.
func (f *seedFlags) callers(root string) ([]plugin.Seed, error) {
	if err := f.outOfRepository(root); err != nil {
		return nil, err
	}
	return readSeeds(f.files)
}

// outOfRepository refuses a seed that lies in the repository: whoever can read that
// would know all values that are derived.
func (f *seedFlags) outOfRepository(root string) error {
	for _, file := range f.files {
		if inside(root, absolute(file)) {
			return diag.WithHint(fmt.Errorf("the seed %q lies in the repository", file),
				"keep it elsewhere, and treat it as known to all who can read the repository: make a new one")
		}
	}
	return nil
}

// readSeeds reads the files of seeds. The id of a seed is the name of its file.
func readSeeds(files []string) (seeds []plugin.Seed, err error) {
	seeds, _, err = lookAtSeeds(files)
	return seeds, err
}

// lookAtSeeds is readSeeds with a digest of what was read.
func lookAtSeeds(files []string) (seeds []plugin.Seed, look [sha256.Size]byte, err error) {
	all := sha256.New()
	known := map[string]bool{}
	for _, file := range files {
		id := filepath.Base(file)
		if known[id] {
			return nil, look, usageError{fmt.Errorf("--seed-file: two files are named %q, and so two seeds", id)}
		}
		known[id] = true
		data, err := readFile(file, "a seed", maxKey)
		if err != nil {
			return nil, look, err
		}
		digest := sha256.Sum256(data)
		all.Write(digest[:])
		seed, err := plugin.ReadSeed(id, data)
		clear(data)
		if err != nil {
			return nil, look, err
		}
		seeds = append(seeds, seed)
	}
	return seeds, [sha256.Size]byte(all.Sum(nil)), nil
}

// seedSource are files of seeds that are read again when they change, as a
// policy.Source is: when it is asked, by what they hold.
type seedSource struct {
	files   []string
	changed func(err error) // called for each change, with nil for good seeds

	mu    sync.Mutex
	seeds []plugin.Seed
	look  [sha256.Size]byte
	fault string // of the last look
}

// watchSeeds reads the files, and fails where one is not good.
func watchSeeds(files []string, changed func(err error)) (*seedSource, error) {
	s := &seedSource{files: files, changed: changed}
	var err error
	s.seeds, s.look, err = lookAtSeeds(files)
	return s, err
}

// Current looks at the files and returns the seeds that count: those of the files, or
// the last good ones where one is broken or gone.
func (s *seedSource) Current() []plugin.Seed {
	s.mu.Lock()
	defer s.mu.Unlock()
	seeds, look, err := lookAtSeeds(s.files)
	if err != nil {
		if fault := err.Error(); fault != s.fault {
			s.fault = fault
			s.changed(err)
		}
		return s.seeds
	}
	if s.fault != "" || !bytes.Equal(look[:], s.look[:]) {
		s.seeds, s.look, s.fault = seeds, look, ""
		s.changed(nil)
	}
	return s.seeds
}

// Healthy reports whether the last look found good seeds.
func (s *seedSource) Healthy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fault == ""
}

package overlay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	imageref "sigs.k8s.io/kustomize/api/pkg/util"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// edits reports whether o changes the kustomization file.
func (o *Options) edits() bool {
	return o.NamePrefix != "" || o.NameSuffix != "" || o.Namespace != "" ||
		len(o.Images) > 0 || len(o.Replicas) > 0 || len(o.CommonLabels) > 0 ||
		len(o.CommonAnnotations) > 0 || len(o.Patches) > 0 || len(o.Components) > 0
}

// edit applies o to k as Argo CD does, which runs one `kustomize edit` command
// per option in this order. The rules are those of kustomize/v5 commands/edit,
// whose validator of names, labels and namespaces accepts everything.
func (t *tree) edit(k *types.Kustomization, dir string, o *Options) error {
	if o.NamePrefix != "" {
		k.NamePrefix = o.NamePrefix
	}
	if o.NameSuffix != "" {
		k.NameSuffix = o.NameSuffix
	}
	if len(o.Images) > 0 {
		if err := setImages(k, o.Images); err != nil {
			return err
		}
	}
	if len(o.Replicas) > 0 {
		setReplicas(k, o.Replicas)
	}
	if err := addLabels(k, o); err != nil {
		return err
	}
	if err := addAnnotations(k, o); err != nil {
		return err
	}
	if o.Namespace != "" {
		k.Namespace = o.Namespace
	}
	for i, patch := range o.Patches {
		converted, err := patch.kustomize()
		if err != nil {
			return fmt.Errorf("patch %d: %w", i+1, err)
		}
		k.Patches = append(k.Patches, converted)
	}
	return t.addComponents(k, dir, o)
}

// preserve stands for "as the kustomization file has it" in an image argument.
const preserve = "*"

// setImages is `kustomize edit set image`. Entries come out sorted by name, and
// of several entries in the file with one name the last counts.
func setImages(k *types.Kustomization, args []string) error {
	images := map[string]types.Image{}
	for _, arg := range args {
		image, err := parseImage(arg)
		if err != nil {
			return err
		}
		images[image.Name] = image
	}
	keep := func(value, existing string) string {
		if value == preserve {
			return existing
		}
		return value
	}
	for _, existing := range k.Images {
		if image, ok := images[existing.Name]; ok {
			image = types.Image{
				Name:    image.Name,
				NewName: keep(image.NewName, existing.NewName),
				NewTag:  keep(image.NewTag, existing.NewTag),
				Digest:  keep(image.Digest, existing.Digest),
			}
			images[existing.Name] = image
			continue
		}
		images[existing.Name] = existing
	}
	k.Images = k.Images[:0:0]
	for _, name := range slices.Sorted(maps.Keys(images)) {
		image := images[name]
		image.NewName = keep(image.NewName, "")
		image.NewTag = keep(image.NewTag, "")
		image.Digest = keep(image.Digest, "")
		k.Images = append(k.Images, image)
	}
	return nil
}

// parseImage reads name=newname:tag@digest, where all but one part may be
// absent.
func parseImage(arg string) (types.Image, error) {
	name, value, renamed := strings.Cut(arg, "=")
	if !renamed {
		name, value = "", arg
	}
	newName, tag, digest := imageref.SplitImageName(value)
	if newName == arg {
		return types.Image{}, fmt.Errorf("image %q: want name=newname, name:tag, name@digest or a combination of these", arg)
	}
	image := types.Image{Name: newName, NewTag: tag, Digest: digest}
	if name != "" {
		image.Name, image.NewName = name, newName
	}
	return image, nil
}

// setReplicas is `kustomize edit set replicas`.
func setReplicas(k *types.Kustomization, replicas []Replica) {
	counts := map[string]types.Replica{}
	for _, replica := range replicas {
		counts[replica.Name] = types.Replica{Name: replica.Name, Count: replica.Count}
	}
	for _, existing := range k.Replicas {
		if _, ok := counts[existing.Name]; !ok {
			counts[existing.Name] = existing
		}
	}
	k.Replicas = slices.SortedFunc(maps.Values(counts), func(a, b types.Replica) int {
		return strings.Compare(a.Name, b.Name)
	})
}

// pairs turns a map into what the command line arguments key:value are parsed
// to: the key ends at the first colon, and one pair of double quotes round the
// value is dropped.
func pairs(values map[string]string, kind string) (map[string]string, error) {
	result := make(map[string]string, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name, value, _ := strings.Cut(key+":"+values[key], ":")
		if name == "" {
			return nil, fmt.Errorf("%s %q: the key is empty", kind, key+":"+values[key])
		}
		if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
			value = value[1 : len(value)-1]
		}
		result[name] = value
	}
	return result, nil
}

// addLabels is `kustomize edit add label`.
func addLabels(k *types.Kustomization, o *Options) error {
	if len(o.CommonLabels) == 0 {
		return nil
	}
	if o.LabelIncludeTemplates && !o.LabelWithoutSelector {
		return errors.New("labels can include templates only without selector: set the option for labels without selector too")
	}
	labels, err := pairs(o.CommonLabels, "label")
	if err != nil {
		return err
	}
	if !o.LabelWithoutSelector {
		common := &k.CommonLabels //nolint:staticcheck // deprecated, but the field that the command writes
		if *common == nil {
			*common = map[string]string{}
		}
		return add(*common, labels, "label", o.ForceCommonLabels)
	}
	// The command looks for the first entry with the same two settings, whatever
	// else the entry says, and adds one only where there is none.
	for i := range k.Labels {
		entry := &k.Labels[i]
		if !entry.IncludeSelectors && entry.IncludeTemplates == o.LabelIncludeTemplates {
			if entry.Pairs == nil {
				return fmt.Errorf("labels entry %d has no pairs to add to", i+1)
			}
			return add(entry.Pairs, labels, "label", o.ForceCommonLabels)
		}
	}
	k.Labels = append(k.Labels, types.Label{Pairs: labels, IncludeTemplates: o.LabelIncludeTemplates})
	return nil
}

// addAnnotations is `kustomize edit add annotation`.
func addAnnotations(k *types.Kustomization, o *Options) error {
	if len(o.CommonAnnotations) == 0 {
		return nil
	}
	annotations, err := pairs(o.CommonAnnotations, "annotation")
	if err != nil {
		return err
	}
	if k.CommonAnnotations == nil {
		k.CommonAnnotations = map[string]string{}
	}
	return add(k.CommonAnnotations, annotations, "annotation", o.ForceCommonAnnotations)
}

func add(to, from map[string]string, kind string, force bool) error {
	for _, key := range slices.Sorted(maps.Keys(from)) {
		if _, exists := to[key]; exists && !force {
			return diag.WithHint(
				fmt.Errorf("%s %q is already in the kustomization file", kind, key),
				"set the force option for common "+kind+"s to override it")
		}
		to[key] = from[key]
	}
	return nil
}

// kustomize converts p strictly: an option that Kustomize does not know is an
// error there too.
func (p Patch) kustomize() (types.Patch, error) {
	var converted types.Patch
	encoded, err := json.Marshal(p)
	if err != nil {
		return converted, err
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&converted); err != nil {
		return converted, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return converted, nil
}

var globMeta = regexp.MustCompile(`[*?\[\\]`)

// addComponents is `kustomize edit add component`, which expands globs.
func (t *tree) addComponents(k *types.Kustomization, dir string, o *Options) error {
	self, _, _ := Find(t.fsys, dir)
	for _, component := range o.Components {
		if err := localRoot(component); err != nil {
			return err
		}
		found, err := t.globFrom(dir, component)
		if err != nil {
			return fmt.Errorf("component %q: %w", component, err)
		}
		if len(found) == 0 {
			if o.IgnoreMissingComponents {
				continue
			}
			return diag.WithHint(
				fmt.Errorf("component %q does not exist below %q", component, dir),
				"the path is relative to the folder that is rendered; the option to ignore missing components skips it")
		}
		for _, name := range found {
			if name != self && !slices.Contains(k.Components, name) {
				k.Components = append(k.Components, name)
			}
		}
	}
	return nil
}

// globFrom expands a pattern relative to dir, as filepath.Glob does in a
// process whose working folder is dir.
func (t *tree) globFrom(dir, pattern string) ([]string, error) {
	if !globMeta.MatchString(pattern) {
		target := path.Join(dir, pattern)
		if !fs.ValidPath(target) {
			return nil, nil
		}
		_, _, err := t.stat(target)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return []string{pattern}, nil
	}
	quoted := globMeta.ReplaceAllString(dir, `\$0`)
	found, err := t.Glob(outside(path.Join(quoted, pattern)))
	if err != nil {
		return nil, err
	}
	relative := make([]string, 0, len(found))
	for _, name := range found {
		rel, err := filepath.Rel(outside(dir), name)
		if err != nil {
			return nil, err
		}
		relative = append(relative, filepath.ToSlash(rel))
	}
	sort.Strings(relative)
	if filesys.IsHiddenFilePath(pattern) {
		return relative, nil
	}
	return filesys.RemoveHiddenFiles(relative), nil
}

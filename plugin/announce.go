package plugin

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/plugin/chart"
)

// Announcement describes one parameter of an application to Argo CD's UI. Its
// JSON form is Argo CD's ParameterAnnouncement.
type Announcement struct {
	Name  string `json:"name,omitempty"`
	Title string `json:"title,omitempty"`
	// Tooltip is for people; the UI of Argo CD 2.14 and 3.2 does not show it yet.
	Tooltip        string `json:"tooltip,omitempty"`
	Required       bool   `json:"required,omitempty"`
	ItemType       string `json:"itemType,omitempty"`
	CollectionType string `json:"collectionType,omitempty"`
	// String, Array and Map hold the value that counts where the Application
	// does not give the parameter; which of them says CollectionType.
	String string            `json:"string,omitempty"`
	Array  []string          `json:"array,omitempty"`
	Map    map[string]string `json:"map,omitempty"`
}

// Announce lists all parameters, in the order of [Specs], with the values that
// count where the Application gives none: those of hallmark.yaml, else the
// defaults. As in the tabs that Argo CD has for its own sources,
// helm-parameters shows the values of a chart (values.yaml, the value files and the
// values of hallmark.yaml) and kustomize-images the images of a kustomization as it is built.
//
// The UI saves all entries of a map or an array when one of them is edited. So
// what is shown is exact: to give it as a parameter changes no object. A value or
// an image for which that does not hold is left out.
//
// Nothing is decrypted for it, and ciphertext among a chart's values is left out.
// Otherwise the values of hallmark.yaml and of value files are shown, as Argo CD
// shows those of a chart: to whoever may read the application.
//
// A folder that cannot be rendered has parameters as well, and one of them may be
// the remedy. So all of them are returned with an error too, which then says why
// values of this application are missing among them. It holds no values.
func Announce(ctx context.Context, r *Request) ([]Announcement, error) {
	type found struct {
		defaults *defaults
		err      error
	}
	f, err := within(ctx, r, func(ctx context.Context, c *crew) (found, error) {
		d := newDefaults(r, Parameters{})
		err := d.look(ctx, r, c)
		return found{d, c.secrets.Error(err)}, nil
	})
	if err != nil {
		return newDefaults(r, Parameters{}).announce(), err
	}
	return f.defaults.announce(), f.err
}

// defaults are the parameters that count where the Application gives none.
type defaults struct {
	Parameters
	// omitted is the number of the chart's values that are not shown.
	omitted int
}

// newDefaults adds to what hallmark.yaml gives what is known without the tree.
func newDefaults(r *Request, file Parameters) *defaults {
	p := file
	p.ReleaseName = cmp.Or(p.ReleaseName, r.instance())
	p.Namespace = cmp.Or(p.Namespace, r.Namespace)
	p.Determinism = cmp.Or(p.Determinism, r.rule().Determinism)
	if version, err := genericVersion(r.KubeVersion); err == nil {
		p.KubeVersion = cmp.Or(p.KubeVersion, version)
	}
	if len(p.APIVersions) == 0 {
		p.APIVersions = nonEmpty(r.APIVersions)
	}
	return &defaults{Parameters: p}
}

// look adds what the tree says. Where it returns an error it has gone as far as
// it could.
func (d *defaults) look(ctx context.Context, r *Request, c *crew) error {
	view, dir := r.Tree.View(), path.Clean(r.Path)
	file, err := loadFile(view, dir)
	if err != nil {
		return err
	}
	*d = *newDefaults(r, file)
	if d.Renderer == "" {
		if d.Renderer, err = discover(view, dir); err != nil {
			return err
		}
	}
	s, err := r.open(ctx, c, true)
	if err != nil {
		return err
	}
	switch renderer, _, _ := strings.Cut(s.renderer.Version(), "/"); renderer {
	case RendererHelm3, RendererHelm4:
		return d.lookAtChart(s, chart.Engine(renderer))
	case RendererKustomize:
		return d.lookAtImages(ctx, s)
	}
	return nil
}

// announce writes the parameters down.
func (d *defaults) announce() []Announcement {
	list := make([]Announcement, len(specs))
	for i, spec := range specs {
		a := Announcement{
			Name: spec.Name, Title: spec.Title, Tooltip: spec.Tooltip,
			ItemType: spec.ItemType, CollectionType: spec.Type,
		}
		switch v := spec.field(&d.Parameters).(type) {
		case *string:
			a.String = cmp.Or(*v, spec.Default)
		case *bool:
			a.String = strconv.FormatBool(*v)
		case *[]string:
			a.Array = *v
		case *map[string]string:
			a.Map = *v
		}
		if spec.Name == "helm-parameters" && d.omitted > 0 {
			a.Tooltip += fmt.Sprintf(" Not shown are %d more: too many, too long, or not to be given exactly in this form, such as fractions.", d.omitted)
		}
		list[i] = a
	}
	return list
}

// lookAtChart adds the values of the chart to those that hallmark.yaml assigns.
// Both maps can be given on top of all other parameters that take effect: what
// one of those decides is in neither. So they hold nothing that the Application
// gave in values, which may be secret.
func (d *defaults) lookAtChart(s *session, engine chart.Engine) error {
	ch, err := loadChart(s.in.charts, s.in.FS, s.in.Dir)
	if err != nil {
		return err
	}
	in, p := *s.in, &s.in.Parameters
	var over map[string]any
	if s.Parameters.set["values"] {
		if over, err = chart.MergeValues(engine, []chart.Document{{Name: "parameter values", Data: []byte(p.Values)}}); err != nil {
			return err
		}
		in.Parameters.Values = ""
	}
	options, err := helmOptions(&in)
	if err != nil {
		return err
	}
	values, err := ch.Defaults(engine, options.Values)
	if err != nil {
		return err
	}
	dropCiphertext(values)
	plain := chart.LeavesOf(values, over, names(d.HelmParameters, p.HelmStringParameters, p.HelmFileParameters))
	text := chart.LeavesOf(values, over, names(p.HelmParameters, d.HelmStringParameters, p.HelmFileParameters))
	d.HelmParameters = withLeaves(d.HelmParameters, plain.Set)
	d.HelmStringParameters = withLeaves(d.HelmStringParameters, text.SetString)
	d.omitted = plain.Omitted
	return nil
}

func names(assigned ...map[string]string) []string {
	var out []string
	for _, m := range assigned {
		out = append(out, sortedKeys(m)...)
	}
	return out
}

// withLeaves adds leaves to m. Variables are expanded in parameters, so that a
// dollar sign in a value has to be doubled.
func withLeaves(m map[string]string, leaves []chart.Assignment) map[string]string {
	if len(leaves) == 0 {
		return m
	}
	out := make(map[string]string, len(m)+len(leaves))
	maps.Copy(out, m)
	for _, l := range leaves {
		out[l.Name] = strings.ReplaceAll(l.Value, "$", "$$")
	}
	return out
}

// sopsMark begins every value that SOPS has encrypted.
const sopsMark = "ENC[AES256_GCM,"

// dropCiphertext removes encrypted values, and lists that hold one, from values,
// and what SOPS writes about them. It tells whether v itself is to be removed.
func dropCiphertext(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.Contains(v, sopsMark)
	case []any:
		return slices.ContainsFunc(v, dropCiphertext)
	case map[string]any:
		before := len(v)
		maps.DeleteFunc(v, func(_ string, e any) bool { return dropCiphertext(e) })
		if len(v) < before {
			// The MAC beside them is ciphertext too, so this is reached for the
			// mapping that SOPS has left behind.
			return v["lastmodified"] != nil
		}
	}
	return false
}

// lookAtImages adds the images of the kustomization to those that hallmark.yaml
// sets.
func (d *defaults) lookAtImages(ctx context.Context, s *session) error {
	in := *s.in
	in.Parameters.KustomizeImages = d.KustomizeImages
	out, err := s.renderer.Render(ctx, &in)
	if err != nil {
		return err
	}
	set := map[string]bool{}
	for _, image := range d.KustomizeImages {
		old, now, _ := strings.Cut(image, "=")
		set[imageName(old)] = true
		set[imageName(now)] = true
	}
	d.KustomizeImages = slices.Clone(d.KustomizeImages)
	for _, image := range imagesOf(out.Objects) {
		if !set[imageName(image)] {
			d.KustomizeImages = append(d.KustomizeImages, image)
		}
	}
	return nil
}

// maxImages bounds the images that are shown, as the assignments are bounded.
const maxImages = 1000

// reference is an image with a tag or a digest. One without either cannot be
// given to `kustomize edit set image`, and what is none is left to its author.
var reference = regexp.MustCompile(`^[a-z0-9][\w./-]*(?::\d+/[\w./-]+)?(?::[\w.-]+(?:@\w+:\w+)?|@\w+:\w+)$`)

// imagesOf returns the images of all containers, sorted, as Argo CD finds them
// (getImageParameters in its util/kustomize). An image that is there with two
// tags is left out: setting it would set both to one.
func imagesOf(objects []object.Object) []string {
	byName := map[string]string{}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, e := range v {
				containers, isList := e.([]any)
				if !isList || key != "containers" && key != "initContainers" {
					walk(e)
					continue
				}
				for _, c := range containers {
					container, _ := c.(map[string]any)
					image, _ := container["image"].(string)
					name := imageName(image)
					if other, found := byName[name]; found && other != image {
						image = ""
					}
					byName[name] = image
				}
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	for _, o := range objects {
		walk(o.Value)
	}
	var images []string
	for _, image := range byName {
		if len(image) < 1<<10 && reference.MatchString(image) {
			images = append(images, image)
		}
	}
	slices.Sort(images)
	return images[:min(len(images), maxImages)]
}

// imageName cuts the tag and the digest off.
func imageName(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		name = name[:colon]
	}
	return name
}

package plugin

import (
	"fmt"
	"slices"
	"strings"

	"hallmark.dev/hallmark/internal/diag"
	"hallmark.dev/hallmark/plugin/chart"
	"hallmark.dev/hallmark/plugin/overlay"
)

// ParameterSpec describes one parameter.
type ParameterSpec struct {
	Name string
	// Title is the name in words. Argo CD's UI shows it in place of the name, so
	// a reader must be able to tell the one from the other.
	Title string
	// Tooltip says in a sentence or two what the parameter means, what wins over
	// what, and how a value looks.
	Tooltip string
	// Type is "string", "array" or "map", Argo CD's collection types. Booleans
	// are strings, "true" or "false".
	Type string
	// ItemType is what the value stands for, or each value of an array or map:
	// "string", "boolean" or "number".
	ItemType string
	// Boolean says that the string is "true" or "false".
	Boolean bool
	// Sensitive says that values may hold secrets: they stay out of evidence,
	// logs and errors, only keys are shown.
	Sensitive bool
	// Default is the value that counts where the parameter is not given.
	Default string

	field func(*Parameters) any // *string, *bool, *[]string or *map[string]string
}

// Specs returns the parameters in the order in which users read them.
func Specs() []ParameterSpec { return slices.Clone(specs) }

var specs = []ParameterSpec{
	text("renderer", "Renderer", func(p *Parameters) any { return &p.Renderer },
		"What renders the folder: helm3, helm4, kustomize or plain. By default a kustomization is built, else a chart is rendered with Helm 3, else the manifests are taken as they are."),
	text("renderer-version", "Renderer version", func(p *Parameters) any { return &p.RendererVersion },
		"A pin such as "+chart.Helm3.Version()+": a hallmark that has another version of the renderer refuses to render. This one has Helm "+
			chart.Helm3.Version()+" and "+chart.Helm4.Version()+", Kustomize "+overlay.Version+" and plain "+plainVersion+"."),

	list("value-files", "Value files", func(p *Parameters) any { return &p.ValueFiles },
		"Files such as values-production.yaml, each over the one before and all over the chart's values.yaml. Paths are relative to the chart, or with a leading slash to the repository; globs and variables such as $ARGOCD_APP_NAME work."),
	secret(text("values", "Values", func(p *Parameters) any { return &p.Values },
		"Values as YAML text. They win over value-files.")),
	secret(table("helm-parameters", "Helm parameters", func(p *Parameters) any { return &p.HelmParameters },
		"Single values in the form of helm's --set, such as image.tag with v2; they win over values. The chart's own values are shown, and saving a change in the UI saves all that is shown.")),
	secret(table("helm-string-parameters", "Helm string parameters", func(p *Parameters) any { return &p.HelmStringParameters },
		"As helm-parameters, over which they win, but each value stays a string: 8080 and true too. The chart's values that need this form are shown here.")),
	table("helm-file-parameters", "Helm file parameters", func(p *Parameters) any { return &p.HelmFileParameters },
		"Values that are read from files, such as config with files/app.toml; they win over the other Helm parameters. Paths are relative to the chart, or with a leading slash to the repository."),
	text("release-name", "Release name", func(p *Parameters) any { return &p.ReleaseName },
		"Name of the Helm release. By default that of the application."),
	text("namespace", "Namespace", func(p *Parameters) any { return &p.Namespace },
		"Namespace of the Helm release. By default that of the application's destination."),
	text("kube-version", "Kube version", func(p *Parameters) any { return &p.KubeVersion },
		"Kubernetes version that charts see, such as 1.33.2. By default that of the destination's cluster."),
	list("api-versions", "API versions", func(p *Parameters) any { return &p.APIVersions },
		"API versions that charts see beside those that Helm knows itself, such as monitoring.coreos.com/v1. By default those of the destination's cluster."),
	toggle("skip-crds", "Skip CRDs", func(p *Parameters) any { return &p.SkipCRDs },
		"Leaves out the custom resource definitions in the chart's crds folder."),
	toggle("skip-tests", "Skip tests", func(p *Parameters) any { return &p.SkipTests },
		"Leaves out the objects that are Helm test hooks."),
	toggle("skip-schema-validation", "Skip schema validation", func(p *Parameters) any { return &p.SkipSchemaValidation },
		"Renders without checking the values against the chart's values.schema.json."),
	toggle("ignore-missing-value-files", "Ignore missing value files", func(p *Parameters) any { return &p.IgnoreMissingValueFiles },
		"Skips value files that do not exist instead of refusing to render."),

	text("kustomize-name-prefix", "Kustomize name prefix", func(p *Parameters) any { return &p.KustomizeNamePrefix },
		"Put in front of the name of every object, such as team-. It replaces the prefix that the kustomization sets."),
	text("kustomize-name-suffix", "Kustomize name suffix", func(p *Parameters) any { return &p.KustomizeNameSuffix },
		"Put behind the name of every object, such as -blue. It replaces the suffix that the kustomization sets."),
	list("kustomize-images", "Kustomize images", func(p *Parameters) any { return &p.KustomizeImages },
		"Images in the form of kustomize edit set image, such as shop/web:v2 or shop/web=mirror.example/shop/web:v2. Those of the built kustomization are shown, and saving a change in the UI saves all that is shown."),
	numbers(table("kustomize-replicas", "Kustomize replicas", func(p *Parameters) any { return &p.KustomizeReplicas },
		"Numbers of replicas by the name of the workload, such as web with 3.")),
	table("kustomize-common-labels", "Kustomize common labels", func(p *Parameters) any { return &p.KustomizeCommonLabels },
		"Labels for every object and its selectors, such as team with shop. One that the kustomization sets already is refused, unless kustomize-force-common-labels is true."),
	table("kustomize-common-annotations", "Kustomize common annotations", func(p *Parameters) any { return &p.KustomizeCommonAnnotations },
		"Annotations for every object and its pod template, such as contact with shop-oncall. One that the kustomization sets already is refused, unless kustomize-force-common-annotations is true."),
	toggle("kustomize-label-without-selector", "Kustomize label without selector", func(p *Parameters) any { return &p.KustomizeLabelWithoutSelector },
		"Keeps kustomize-common-labels out of selectors and pod templates."),
	toggle("kustomize-label-include-templates", "Kustomize label include templates", func(p *Parameters) any { return &p.KustomizeLabelIncludeTemplates },
		"Puts kustomize-common-labels into pod templates where kustomize-label-without-selector is true."),
	toggle("kustomize-force-common-labels", "Kustomize force common labels", func(p *Parameters) any { return &p.KustomizeForceCommonLabels },
		"Lets kustomize-common-labels replace labels that the kustomization sets."),
	toggle("kustomize-force-common-annotations", "Kustomize force common annotations", func(p *Parameters) any { return &p.KustomizeForceCommonAnnotations },
		"Lets kustomize-common-annotations replace annotations that the kustomization sets."),
	toggle("kustomize-common-annotations-envsubst", "Kustomize common annotations envsubst", func(p *Parameters) any { return &p.KustomizeAnnotationsEnvsubst },
		"Replaces variables such as $ARGOCD_APP_NAME in kustomize-common-annotations."),
	text("kustomize-namespace", "Kustomize namespace", func(p *Parameters) any { return &p.KustomizeNamespace },
		"Namespace of every object. It replaces the one that the kustomization sets."),
	list("kustomize-components", "Kustomize components", func(p *Parameters) any { return &p.KustomizeComponents },
		"Folders of components to add, such as ../components/tls, relative to the kustomization. Globs work."),
	toggle("kustomize-ignore-missing-components", "Kustomize ignore missing components", func(p *Parameters) any { return &p.KustomizeIgnoreMissingComponents },
		"Skips components that do not exist instead of refusing to render."),
	secret(text("kustomize-patches", "Kustomize patches", func(p *Parameters) any { return &p.KustomizePatches },
		"Patches as a YAML list, each with path or patch, and with target and options where needed. They come after those of the kustomization.")),
	defaulted(text("kustomize-helm", "Kustomize helm", func(p *Parameters) any { return &p.KustomizeHelm },
		"The Helm that renders the charts of a kustomization: helm3 or helm4."), RendererHelm3),

	toggle("directory-recurse", "Directory recurse", func(p *Parameters) any { return &p.DirectoryRecurse },
		"Takes the manifests of the folders below as well."),
	text("directory-include", "Directory include", func(p *Parameters) any { return &p.DirectoryInclude },
		"Glob of the files to take, relative to the folder, such as {web,jobs}/*.yaml. By default all manifests."),
	text("directory-exclude", "Directory exclude", func(p *Parameters) any { return &p.DirectoryExclude },
		"Glob of the files to leave out, relative to the folder, such as *-test.yaml. It wins over directory-include."),

	defaulted(text("determinism", "Determinism", func(p *Parameters) any { return &p.Determinism },
		"What happens to output that differs from render to render: enforce refuses it, derive makes passwords, keys and certificates from the platform team's seed, so that they stay as they are, and warn accepts fields that differ and keeps them out of the hash."), DeterminismEnforce),
	defaulted(numbers(text("random-generation", "Random generation", func(p *Parameters) any { return &p.RandomGeneration },
		"With determinism derive: a number that is counted up to give all derived passwords, keys and certificates of the application new values.")), "0"),
	numbers(table("random-generations", "Random generations", func(p *Parameters) any { return &p.RandomGenerations },
		"The same for single fields, by the names that hallmark random list prints, such as "+exampleField+" with 1. It counts beside random-generation.")),
	text("random-seed", "Random seed", func(p *Parameters) any { return &p.RandomSeed },
		"With determinism derive: the seed that values are derived from, by the name of its file. By default the first that the platform team mounts."),
	toggle("config-hash", "Config hash", func(p *Parameters) any { return &p.ConfigHash },
		"Whether the pod template of a workload gets a hash of the ConfigMaps and Secrets of this render that its containers read or mount, so that a change of one rolls it. Secrets count under the platform team's key, and without that key such a workload is refused."),
	toggle("allow-empty", "Allow empty", func(p *Parameters) any { return &p.AllowEmpty },
		"Accepts a render without objects. With pruning that deletes the application's objects, so by default it is refused."),
}

// exampleField is a name as [derive.Name] gives it.
const exampleField = "Secret/db/data/password"

func text(name, title string, field func(*Parameters) any, tooltip string) ParameterSpec {
	return ParameterSpec{Name: name, Title: title, Tooltip: tooltip, Type: "string", ItemType: "string", field: field}
}

func list(name, title string, field func(*Parameters) any, tooltip string) ParameterSpec {
	return ParameterSpec{Name: name, Title: title, Tooltip: tooltip, Type: "array", ItemType: "string", field: field}
}

func table(name, title string, field func(*Parameters) any, tooltip string) ParameterSpec {
	return ParameterSpec{Name: name, Title: title, Tooltip: tooltip, Type: "map", ItemType: "string", field: field}
}

func toggle(name, title string, field func(*Parameters) any, tooltip string) ParameterSpec {
	s := text(name, title, field, tooltip)
	s.ItemType, s.Boolean, s.Default = "boolean", true, "false"
	return s
}

func numbers(s ParameterSpec) ParameterSpec { s.ItemType = "number"; return s }

func secret(s ParameterSpec) ParameterSpec { s.Sensitive = true; return s }

func defaulted(s ParameterSpec, value string) ParameterSpec { s.Default = value; return s }

func specOf(name string) (ParameterSpec, error) {
	for _, s := range specs {
		if s.Name == name {
			return s, nil
		}
	}
	err := fmt.Errorf("unknown parameter %q", name)
	if near := nearest(name); near != "" {
		return ParameterSpec{}, diag.WithHint(err, fmt.Sprintf("did you mean %q?", near))
	}
	return ParameterSpec{}, err
}

// nearest returns the parameter whose name differs from name in case, dashes or
// at most two characters, or "".
func nearest(name string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(s))
	}
	best, bestDistance := "", 3
	for _, s := range specs {
		if plain(s.Name) == plain(name) {
			return s.Name
		}
		if d := diag.Distance(s.Name, name); d < bestDistance {
			best, bestDistance = s.Name, d
		}
	}
	return best
}

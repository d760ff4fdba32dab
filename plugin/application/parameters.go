package application

import (
	"encoding/json"
	"strconv"

	"hallmark.dev/hallmark/internal/object"
	"hallmark.dev/hallmark/internal/yamldoc"
	"hallmark.dev/hallmark/plugin"
)

// A parameter is an entry of what Argo CD sends a plugin, see plugin.ParseParameters.
type parameter struct {
	Name   string            `json:"name"`
	String *string           `json:"string,omitempty"`
	Array  []string          `json:"array,omitzero"`
	Map    map[string]string `json:"map,omitzero"`
}

func marshal(list []parameter) []byte {
	data, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings have JSON
	}
	return data
}

// parameters collects those of a source. Fields of the native source that have Go's
// zero value are not there, as in Argo CD.
type parameters struct {
	faults *faults
	path   []any // of the source's tool
	list   []parameter
}

func (p *parameters) text(name string, v any) {
	if value := object.Text(v); value != "" {
		p.list = append(p.list, parameter{Name: name, String: &value})
	}
}

func (p *parameters) flag(name string, v any) {
	if v == true {
		p.text(name, "true")
	}
}

func (p *parameters) array(name string, v any) {
	if items := texts(v); len(items) > 0 {
		p.list = append(p.list, parameter{Name: name, Array: items})
	}
}

func (p *parameters) table(name string, entries map[string]string) {
	if len(entries) > 0 {
		p.list = append(p.list, parameter{Name: name, Map: entries})
	}
}

// parse makes plugin parameters of the list.
func (p *parameters) parse() plugin.Parameters {
	out, err := plugin.ParseParameters(marshal(p.list))
	if err != nil {
		p.faults.addf(p.path, "%v", err)
	}
	return out
}

// helm translates Argo CD's ApplicationSourceHelm. Commas in parameters are escaped by
// the renderer, as Argo CD does it for native sources.
func (s *Source) helm(p *parameters, config map[string]any) {
	p.text("renderer", plugin.RendererHelm3)
	p.array("value-files", config["valueFiles"])
	if values, given := config["valuesObject"].(map[string]any); given {
		// It replaces values, also where it is empty.
		p.text("values", string(yamldoc.AppendYAML(nil, values)))
	} else {
		p.text("values", config["values"])
	}
	plain, forced, files := map[string]string{}, map[string]string{}, map[string]string{}
	for _, item := range object.Items(config["parameters"]) {
		to := plain
		if object.Field(item, "forceString") == true {
			to = forced
		}
		to[object.Text(object.Field(item, "name"))] = object.Text(object.Field(item, "value"))
	}
	for _, item := range object.Items(config["fileParameters"]) {
		files[object.Text(object.Field(item, "name"))] = object.Text(object.Field(item, "path"))
	}
	p.table("helm-parameters", plain)
	p.table("helm-string-parameters", forced)
	p.table("helm-file-parameters", files)
	p.text("release-name", config["releaseName"])
	p.text("namespace", config["namespace"])
	s.cluster(p, config)
	p.flag("skip-crds", config["skipCrds"])
	p.flag("skip-tests", config["skipTests"])
	p.flag("skip-schema-validation", config["skipSchemaValidation"])
	p.flag("ignore-missing-value-files", config["ignoreMissingValueFiles"])
	if object.Text(config["version"]) != "" {
		s.note("helm.version has no effect: hallmark renders with the Helm that is built in, or the one that the comparison names")
	}
}

// kustomize translates Argo CD's ApplicationSourceKustomize.
func (s *Source) kustomize(p *parameters, config map[string]any) {
	p.text("renderer", plugin.RendererKustomize)
	p.text("kustomize-name-prefix", config["namePrefix"])
	p.text("kustomize-name-suffix", config["nameSuffix"])
	p.array("kustomize-images", config["images"])
	replicas := map[string]string{}
	for i, item := range object.Items(config["replicas"]) {
		count := object.Text(object.Field(item, "count"))
		if n, ok := object.Field(item, "count").(int64); ok {
			count = strconv.FormatInt(n, 10)
		} else if _, err := strconv.ParseInt(count, 10, 64); err != nil {
			p.faults.addf(below(p.path, "replicas", i, "count"), "got %q, want a whole number", count)
		}
		replicas[object.Text(object.Field(item, "name"))] = count
	}
	p.table("kustomize-replicas", replicas)
	p.table("kustomize-common-labels", textTable(config["commonLabels"]))
	p.table("kustomize-common-annotations", textTable(config["commonAnnotations"]))
	p.flag("kustomize-label-without-selector", config["labelWithoutSelector"])
	p.flag("kustomize-label-include-templates", config["labelIncludeTemplates"])
	p.flag("kustomize-force-common-labels", config["forceCommonLabels"])
	p.flag("kustomize-force-common-annotations", config["forceCommonAnnotations"])
	p.flag("kustomize-common-annotations-envsubst", config["commonAnnotationsEnvsubst"])
	p.text("kustomize-namespace", config["namespace"])
	p.array("kustomize-components", config["components"])
	p.flag("kustomize-ignore-missing-components", config["ignoreMissingComponents"])
	if patches := object.Items(config["patches"]); len(patches) > 0 {
		p.text("kustomize-patches", string(yamldoc.AppendYAML(nil, patches)))
	}
	s.cluster(p, config)
	if object.Text(config["version"]) != "" {
		s.note("kustomize.version has no effect: hallmark builds with the Kustomize that is built in")
	}
}

// cluster reads what a native source says of the cluster in place of the cluster.
func (s *Source) cluster(p *parameters, config map[string]any) {
	s.KubeVersion, s.APIVersions = object.Text(config["kubeVersion"]), texts(config["apiVersions"])
	p.text("kube-version", config["kubeVersion"])
	p.array("api-versions", config["apiVersions"])
}

// directory translates Argo CD's ApplicationSourceDirectory.
func (s *Source) directory(p *parameters, config map[string]any) {
	p.text("renderer", plugin.RendererPlain)
	p.flag("directory-recurse", config["recurse"])
	p.text("directory-include", config["include"])
	p.text("directory-exclude", config["exclude"])
	jsonnet := object.Mapping(config["jsonnet"])
	if len(object.Items(jsonnet["extVars"]))+len(object.Items(jsonnet["tlas"]))+len(object.Items(jsonnet["libs"])) > 0 {
		s.Unsupported = "it has jsonnet, which hallmark does not evaluate"
	}
	if config["disableExtensionFilter"] == true {
		s.Unsupported = "directory.disableExtensionFilter is on, and hallmark takes files that end in .yaml, .yml or .json"
	}
}

package export

import (
	"fmt"

	"hallmark.dev/hallmark/health"
)

// Operator is a merge patch for the argocd-operator's resource of kind ArgoCD,
// argoproj.io/v1beta1. What spec.resourceHealthChecks has no field for, wildcards and
// useOpenLibs, is written to spec.extraConfig, which the operator copies into
// argocd-cm; the notes name it.
func Operator(scripts []Script) ([]byte, []Note, error) {
	data, err := argoData(scripts)
	if err != nil {
		return nil, nil, err
	}
	all, err := entries(scripts)
	if err != nil {
		return nil, nil, err
	}
	var checks []any
	var notes []Note
	extra := map[string]any{}
	libs := map[*health.Check]bool{}
	for _, e := range all {
		name, ok := splitName(e)
		if !ok {
			extra[customizations] = data[customizations]
			notes = append(notes, Note{e.check, fmt.Sprintf("target %s: resourceHealthChecks cannot say it; it is in spec.extraConfig, under %s", e.target(), customizations)})
			continue
		}
		item := map[string]any{"kind": e.kind, "check": e.lua}
		if e.group != "" {
			item["group"] = e.group
		}
		checks = append(checks, item)
		if e.check.UseOpenLibs {
			extra[openLibsKey+name] = "true"
			if !libs[e.check] {
				libs[e.check] = true
				notes = append(notes, Note{e.check, "resourceHealthChecks cannot say useOpenLibs; it is in spec.extraConfig, under " + openLibsKey + "<group>_<kind>"})
			}
		}
	}
	spec := map[string]any{}
	if len(checks) > 0 {
		spec["resourceHealthChecks"] = checks
	}
	comment := "Health checks of Argo CD, written by hallmark health build: a merge patch for the resource\n" +
		"of the argocd-operator. Put its name for argocd. The list replaces the one that is there.\n"
	if len(extra) > 0 {
		spec["extraConfig"] = extra
		comment += "resourceHealthChecks has no wildcards and no useOpenLibs. Those stand in extraConfig, which\n" +
			"the operator copies into argocd-cm as it is.\n"
	}
	comment += textNote(extra, "extraConfig")
	return commented(comment, map[string]any{
		"apiVersion": "argoproj.io/v1beta1", "kind": "ArgoCD",
		"metadata": map[string]any{"name": "argocd"}, "spec": spec,
	}), notes, nil
}

package plugin

import (
	"path"
	"strings"
)

// FromEnviron reads what Argo CD tells a plugin about an application: entries of
// the form NAME=value, in the environment of a command or in the message to a
// plugin server (getPluginEnvs in Argo CD's reposerver/repository). Of an entry
// that comes twice the last counts, as in an environment.
//
// Entries with other names are left out. The sidecar's own environment may hold
// credentials, and what a Request knows, a repository's parameters can print.
//
// With an error the request has all but the parameters, which are wrong. Tree,
// Limits and what the operator gives are the caller's.
func FromEnviron(entries []string) (*Request, error) {
	r := &Request{Env: map[string]string{}}
	parameters := ""
	fields := map[string]*string{
		"ARGOCD_APP_NAME":                   &r.App,
		"ARGOCD_APP_NAMESPACE":              &r.Namespace,
		"ARGOCD_APP_PROJECT_NAME":           &r.Project,
		"ARGOCD_APP_REVISION":               &r.Revision,
		"ARGOCD_APP_SOURCE_REPO_URL":        &r.RepoURL,
		"ARGOCD_APP_SOURCE_PATH":            &r.Path,
		"ARGOCD_APP_SOURCE_TARGET_REVISION": &r.TargetRevision,
		"ARGOCD_APP_PARAMETERS":             &parameters,
		"KUBE_VERSION":                      &r.KubeVersion,
	}
	for _, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		if field, known := fields[name]; known {
			*field = value
		}
		switch {
		case name == "ARGOCD_APP_PARAMETERS":
			// It is not a variable for parameters: it is all of them.
		case name == "KUBE_API_VERSIONS":
			r.APIVersions = strings.Split(value, ",")
		case strings.HasPrefix(name, "ARGOCD_APP_"), strings.HasPrefix(name, "ARGOCD_ENV_"), name == "KUBE_VERSION":
			r.Env[name] = value
		}
	}
	given, err := ParseParameters([]byte(parameters))
	if err != nil {
		return r, err
	}
	r.Parameters = given
	return r, nil
}

// PartOfRepository returns where the root of a tree lies in its repository, ""
// for the whole of it. With the annotation manifest-generate-paths Argo CD sends
// a plugin only a folder of the repository: source is the application's path in
// the repository (ARGOCD_APP_SOURCE_PATH), sent its path in what was sent.
func PartOfRepository(source, sent string) string {
	source, sent = path.Clean("/"+source), path.Clean("/"+sent)
	part, found := strings.CutSuffix(source, strings.TrimSuffix(sent, "/"))
	if !found {
		return ""
	}
	return strings.Trim(part, "/")
}

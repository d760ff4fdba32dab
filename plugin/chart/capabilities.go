package chart

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v4/pkg/chart/common"
	"k8s.io/apimachinery/pkg/util/version"
)

// A chart sees three capabilities: the Kubernetes version, the API versions and
// the Helm version. Without a cluster, Helm takes the first two from the client
// libraries that it was compiled with. hallmark is compiled with other ones (see
// go.mod), so what the released programs report is frozen here. Both releases
// are built on Kubernetes 0.37; a parity case prints the whole set.
const (
	defaultKubeVersion = "v1.37.0"
	kubeClientVersion  = "v1.37"
)

//go:embed apiversions.txt
var defaultAPIVersions string

// apiVersions returns the set that templates see: Helm's own, in its order,
// then those given. Argo CD's native rendering passes the cluster's list with
// --api-versions, and helm adds that list to its own set; it never narrows it.
func apiVersions(given []string) []string {
	set := strings.Fields(defaultAPIVersions)
	for _, v := range given {
		// The flag is a comma separated list, and an empty one adds nothing.
		for part := range strings.SplitSeq(v, ",") {
			if part != "" {
				set = append(set, part)
			}
		}
	}
	return slices.Clip(set)
}

func capabilities3(o Options) (*chartutil.Capabilities, error) {
	kube, err := chartutil.ParseKubeVersion(kubeVersion(o))
	if err != nil {
		return nil, fmt.Errorf("kube-version %q: %w", o.KubeVersion, err)
	}
	caps := chartutil.DefaultCapabilities.Copy()
	caps.KubeVersion = *kube
	caps.APIVersions = apiVersions(o.APIVersions)
	caps.HelmVersion.Version = helm3Version
	return caps, nil
}

func capabilities4(o Options) (*common.Capabilities, error) {
	kube, err := common.ParseKubeVersion(kubeVersion(o))
	if err != nil {
		return nil, fmt.Errorf("kube-version %q: %w", o.KubeVersion, err)
	}
	caps := common.DefaultCapabilities.Copy()
	caps.KubeVersion = *kube
	caps.APIVersions = apiVersions(o.APIVersions)
	caps.HelmVersion.Version = helm4Version
	caps.HelmVersion.KubeClientVersion = kubeClientVersion
	return caps, nil
}

func kubeVersion(o Options) string {
	if o.KubeVersion == "" {
		return defaultKubeVersion
	}
	return o.KubeVersion
}

// GenericVersion drops the leading v and the suffixes of a Kubernetes version:
// "v1.31.2-eks.7" gives "1.31.2".
func GenericVersion(v string) (string, error) {
	parsed, err := version.ParseGeneric(v)
	if err != nil {
		return "", err
	}
	return parsed.String(), nil
}

// ValidReleaseName checks a release name by Helm's rule: a DNS name of at most
// 53 characters.
func ValidReleaseName(name string) error {
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return fmt.Errorf("release name %q: want lower-case letters, digits, dashes and dots, at most 53 characters", name)
	}
	return nil
}

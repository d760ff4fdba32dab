package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a real Argo CD sends, with a credential of the sidecar in between.
func TestFromEnviron(t *testing.T) {
	t.Parallel()
	r, err := FromEnviron([]string{
		"PATH=/bin", "SOPS_AGE_KEY=s3cr3t-marker", "ARGOCD_GIT_PASSWORD=s3cr3t-marker", "PARAM_RELEASE_NAME=web",
		"ARGOCD_APP_NAME=team-a_checkout", "ARGOCD_APP_NAMESPACE=shop", "ARGOCD_APP_PROJECT_NAME=team-a",
		"ARGOCD_APP_REVISION=0123456789abcdef", "ARGOCD_APP_REVISION_SHORT=0123456", "ARGOCD_APP_REVISION_SHORT_8=01234567",
		"ARGOCD_APP_SOURCE_REPO_URL=https://git.example.com/shop.git", "ARGOCD_APP_SOURCE_PATH=apps/checkout",
		"ARGOCD_APP_SOURCE_TARGET_REVISION=main", "KUBE_VERSION=1.33", "KUBE_API_VERSIONS=apps/v1,apps/v1/Deployment",
		"ARGOCD_ENV_TIER=silver", "ARGOCD_ENV_TIER=gold", "ARGOCD_ENV_EMPTY=", "ARGOCD_ENV_EQUALS=a=b",
		`ARGOCD_APP_PARAMETERS=[{"name":"release-name","string":"web"}]`,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &Request{
		App: "team-a_checkout", Namespace: "shop", Project: "team-a", Revision: "0123456789abcdef",
		RepoURL: "https://git.example.com/shop.git", Path: "apps/checkout", TargetRevision: "main",
		KubeVersion: "1.33", APIVersions: []string{"apps/v1", "apps/v1/Deployment"},
		Env: map[string]string{
			"ARGOCD_APP_NAME": "team-a_checkout", "ARGOCD_APP_NAMESPACE": "shop", "ARGOCD_APP_PROJECT_NAME": "team-a",
			"ARGOCD_APP_REVISION": "0123456789abcdef", "ARGOCD_APP_REVISION_SHORT": "0123456", "ARGOCD_APP_REVISION_SHORT_8": "01234567",
			"ARGOCD_APP_SOURCE_REPO_URL": "https://git.example.com/shop.git", "ARGOCD_APP_SOURCE_PATH": "apps/checkout",
			"ARGOCD_APP_SOURCE_TARGET_REVISION": "main", "KUBE_VERSION": "1.33",
			"ARGOCD_ENV_TIER": "gold", "ARGOCD_ENV_EMPTY": "", "ARGOCD_ENV_EQUALS": "a=b",
		},
	}
	want.Parameters.ReleaseName = "web"
	want.Parameters.mark("release-name")
	if diff := cmp.Diff(want, r, cmp.AllowUnexported(Parameters{}), cmp.FilterPath(func(p cmp.Path) bool {
		return p.Last().String() == ".Tree"
	}, cmp.Ignore())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFromEnvironRefusesParameters(t *testing.T) {
	t.Parallel()
	_, err := FromEnviron([]string{`ARGOCD_APP_PARAMETERS=[{"name":"values","map":{"a":"s3cr3t-marker"}}]`})
	if err == nil || !strings.Contains(err.Error(), `parameter "values": got map, want string`) || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("got error %v", err)
	}
}

func TestPartOfRepository(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ source, sent, want string }{
		{"apps/checkout", "apps/checkout", ""},
		{"apps/checkout", "checkout", "apps"},
		{"apps/checkout", ".", "apps/checkout"},
		{"apps/checkout", "", "apps/checkout"},
		{"./apps/checkout/", "checkout", "apps"},
		{".", ".", ""},
		{"", ".", ""},
		{"apps/checkout", "heckout", ""}, // no element of the path
		{"apps/checkout", "other", ""},
		{"", "checkout", ""},
	} {
		if got := PartOfRepository(tt.source, tt.sent); got != tt.want {
			t.Errorf("PartOfRepository(%q, %q): got %q, want %q", tt.source, tt.sent, got, tt.want)
		}
	}
}

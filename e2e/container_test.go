package e2e

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A container is what the tests read of a container of a pod.
type container struct {
	Name    string
	Image   string
	Command []string
	Args    []string
	Env     []variable
	Ports   []struct {
		Name          string
		ContainerPort int
	}
	Resources       struct{ Requests, Limits map[string]string }
	VolumeMounts    []volumeMount
	SecurityContext map[string]any
	StartupProbe    *httpProbe
	LivenessProbe   *httpProbe
	ReadinessProbe  *httpProbe
}

type variable struct {
	Name, Value string
	ValueFrom   *struct {
		ResourceFieldRef *struct{ Resource, Divisor string }
	}
}

type volumeMount struct {
	Name, MountPath, SubPath string
	ReadOnly                 bool
}

type httpProbe struct {
	HTTPGet struct{ Path, Port string }
}

// workload is a Deployment or a Pod.
type workload struct {
	Kind     string
	Metadata struct{ Name string }
	Spec     struct {
		Template struct{ Spec podSpec }
	}
}

type podSpec struct {
	Containers []container
	Volumes    []map[string]any
}

func (s podSpec) container(t testing.TB, name string) container {
	t.Helper()
	for _, c := range s.Containers {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no container is called %s", name)
	return container{}
}

// decode reads YAML of one document into out.
func decode(t testing.TB, data []byte, out any) {
	t.Helper()
	if err := yaml.Unmarshal(data, out); err != nil {
		t.Fatal(err)
	}
}

// decodeFile does so with a file.
func decodeFile(t testing.TB, file string, out any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, data, out)
}

// documents splits what kustomize prints.
func documents(data []byte) [][]byte {
	return bytes.Split(data, []byte("\n---\n"))
}

var reference = regexp.MustCompile(`\$\(([A-Za-z0-9_]+)\)`)

// expanded returns the environment and the arguments as a kubelet makes them:
// $(NAME) is replaced by a variable that was defined before.
func (c container) expanded(t testing.TB) (args, environment []string) {
	t.Helper()
	values := map[string]string{}
	expand := func(s string) string {
		return reference.ReplaceAllStringFunc(s, func(r string) string {
			value, known := values[r[2:len(r)-1]]
			if !known {
				t.Errorf("container %s: %s is no variable that is defined before", c.Name, r)
			}
			return value
		})
	}
	for _, v := range c.Env {
		value := expand(v.Value)
		if v.ValueFrom != nil {
			field := v.ValueFrom.ResourceFieldRef
			limit, ok := strings.CutPrefix(field.Resource, "limits.")
			if !ok {
				t.Fatalf("container %s: this test does not know the resource field %q", c.Name, field.Resource)
			}
			value = strconv.FormatInt(quantity(t, c.Resources.Limits[limit])/quantity(t, field.Divisor), 10)
		}
		values[v.Name] = value
		environment = append(environment, v.Name+"="+value)
	}
	for _, a := range append(c.Command[:len(c.Command):len(c.Command)], c.Args...) {
		args = append(args, expand(a))
	}
	return args, environment
}

// quantity is a quantity of memory in bytes, in the units that the manifests
// use.
func quantity(t testing.TB, s string) int64 {
	t.Helper()
	for i, unit := range []string{"Ki", "Mi", "Gi"} {
		if number, ok := strings.CutSuffix(s, unit); ok {
			n, err := strconv.ParseInt(number, 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			return n << (10 * (i + 1))
		}
	}
	t.Fatalf("this test does not know the unit of %q", s)
	return 0
}

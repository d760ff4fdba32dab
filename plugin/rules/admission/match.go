package admission

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"hallmark.dev/hallmark/internal/fields"
)

// constraints are the matchConstraints of a rule.
type constraints struct {
	included, excluded []resourceRule
	// objects and namespaces select by labels; nil selects all.
	objects, namespaces labels.Selector
}

// A resourceRule takes an object where each list has what the object is, or "*".
type resourceRule struct {
	groups, versions []string
	// One of the two is set.
	resources, kinds []string
	names            []string // none means all
	never            bool     // no operation of it creates or updates
}

const anything = "*"

func readConstraints(f fields.Field) (c constraints) {
	m := f.Mapping("resourceRules", "excludeResourceRules", "objectSelector", "namespaceSelector", "matchPolicy")
	if m == nil {
		return c
	}
	c.included, c.excluded = readResourceRules(m["resourceRules"]), readResourceRules(m["excludeResourceRules"])
	if m["resourceRules"].Value() == nil || len(c.included) == 0 {
		f.Faultf("resourceRules: missing, want at least one")
	}
	c.objects, c.namespaces = readSelector(m["objectSelector"]), readSelector(m["namespaceSelector"])
	if policy, found := m["matchPolicy"]; found {
		policy.OneOf("Exact", "Equivalent")
	}
	return c
}

func readResourceRules(f fields.Field) []resourceRule {
	if f.Value() == nil {
		return nil
	}
	var out []resourceRule
	for _, item := range f.List() {
		m := item.Mapping("apiGroups", "apiVersions", "operations", "resources", "kinds", "resourceNames", "scope")
		if m == nil {
			continue
		}
		rule := resourceRule{
			groups: readNames(m["apiGroups"]), versions: readNames(m["apiVersions"]),
			resources: readNames(m["resources"]), kinds: readNames(m["kinds"]), names: readNames(m["resourceNames"]),
		}
		if rule.groups == nil {
			rule.groups = []string{anything}
		}
		if rule.versions == nil {
			rule.versions = []string{anything}
		}
		switch {
		case m["resources"].There() && m["kinds"].There():
			m["kinds"].Faultf("resources and kinds are both there, want one of them")
		case len(rule.resources)+len(rule.kinds) == 0:
			item.Faultf("resources: missing, want at least one, or kinds")
		}
		if operations, found := m["operations"]; found {
			rule.never = !slices.ContainsFunc(readOperations(operations), func(o string) bool {
				return o == "CREATE" || o == "UPDATE" || o == anything
			})
		}
		if scope, found := m["scope"]; found && scope.OneOf(anything, "Cluster", "Namespaced") != anything {
			scope.Faultf("whether a custom resource is namespaced is known to a cluster only; name the resources")
		}
		out = append(out, rule)
	}
	return out
}

// readNames returns a list of names, nil where there is none.
func readNames(f fields.Field) []string {
	if !f.There() {
		return nil
	}
	var out []string
	for _, item := range f.List() {
		if name, ok := item.Text(); ok {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		f.Faultf("the list is empty, so nothing matches")
	}
	return out
}

func readOperations(f fields.Field) []string {
	var out []string
	for _, item := range f.List() {
		out = append(out, item.OneOf(anything, "CREATE", "UPDATE", "DELETE", "CONNECT"))
	}
	return out
}

// readSelector reads a selector of labels.
func readSelector(f fields.Field) labels.Selector {
	if f.Value() == nil {
		return nil
	}
	m := f.Mapping("matchLabels", "matchExpressions")
	whole := true
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	if wanted := m["matchLabels"]; wanted.There() {
		values, ok := wanted.Value().(map[string]any)
		if !ok {
			wanted.Faultf("got %s, want a mapping", fields.KindOf(wanted.Value()))
		}
		for key, value := range values {
			text, isText := value.(string)
			if !isText {
				wanted.Faultf("%s: got %s, want a string", key, fields.KindOf(value))
				whole = false
			}
			selector.MatchLabels[key] = text
		}
	}
	if list := m["matchExpressions"]; list.There() {
		for _, item := range list.List() {
			e := item.Mapping("key", "operator", "values")
			var next metav1.LabelSelectorRequirement
			if key := e["key"]; key.There() {
				next.Key, _ = key.Text()
			}
			if operator := e["operator"]; operator.There() {
				known := []string{"In", "NotIn", "Exists", "DoesNotExist"}
				name := operator.OneOf(known...)
				next.Operator, whole = metav1.LabelSelectorOperator(name), whole && slices.Contains(known, name)
			}
			if values := e["values"]; values.There() {
				for _, value := range values.List() {
					text, _ := value.Text()
					next.Values = append(next.Values, text)
				}
			}
			selector.MatchExpressions = append(selector.MatchExpressions, next)
		}
	}
	out, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil && whole {
		f.Faultf("%v", err)
	}
	return out
}

// match reports whether a rule is about an object, as the API server decides it.
func (c constraints) match(s *subject) bool {
	in := func(r resourceRule) bool { return r.match(s) }
	return slices.ContainsFunc(c.included, in) && !slices.ContainsFunc(c.excluded, in) &&
		(c.objects == nil || c.objects.Matches(s.labels())) && c.matchNamespace(s)
}

func (r resourceRule) match(s *subject) bool {
	what := slices.Contains(r.kinds, anything) || slices.Contains(r.kinds, s.id.Kind) ||
		slices.ContainsFunc(r.resources, func(want string) bool {
			resource, sub, _ := strings.Cut(want, "/") // a render has no subresources
			return (resource == anything || resource == s.resource) && (sub == "" || sub == anything)
		})
	return what && !r.never && has(r.groups, s.id.Group) && has(r.versions, s.version) &&
		(r.names == nil || slices.Contains(r.names, s.id.Name))
}

func has(list []string, name string) bool {
	return slices.Contains(list, anything) || slices.Contains(list, name)
}

// matchNamespace asks the labels of the Namespace that the object is in; a
// Namespace has its own, and what is in none matches.
func (c constraints) matchNamespace(s *subject) bool {
	if c.namespaces == nil || c.namespaces.Empty() || s.clusterScoped && !s.isNamespace() {
		return true
	}
	known, all := s.namespaceLabels()
	if !all {
		requirements, _ := c.namespaces.Requirements()
		for _, r := range requirements {
			if !known.Has(r.Key()) {
				return false
			}
		}
	}
	return c.namespaces.Matches(known)
}

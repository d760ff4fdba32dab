// Package admission evaluates a team's own release rules: each has the fields of
// a ValidatingAdmissionPolicy's spec beside a name, so that a rule of a cluster
// can be carried over into a RenderPolicy and back.
//
//	name: owner-label
//	matchConstraints:
//	  resourceRules:
//	    - {apiGroups: [apps], apiVersions: ["*"], operations: ["*"], resources: [deployments]}
//	matchConditions:
//	  - {name: not-a-test, expression: "!object.metadata.name.endsWith('-test')"}
//	variables:
//	  - {name: labels, expression: "object.metadata.?labels.orValue({})"}
//	validations:
//	  - expression: "'team' in variables.labels"
//	    message: every Deployment has a label "team"
//
// Expressions are CEL with the functions, the limits of cost and the rules of
// types of the API server of Kubernetes 1.33; they see object, oldObject (null),
// request (a CREATE that is a dry run), params (null), namespaceObject and
// variables. What is wrong with a rule is told when the policy is read.
//
// # What is not as in a cluster
//
//   - Objects are as they are rendered: the API server has set no defaults in
//     them, and no webhook has changed them. spec.replicas of a Deployment is
//     absent unless somebody wrote it, so ask with has() or `.?`; an expression
//     that errors is a finding, unless failurePolicy is Ignore.
//   - Nobody asks, and there are no parameters: authorizer, request.userInfo,
//     request.options, paramKind and auditAnnotations are refused.
//   - A resource is found by the definitions in the render, else by its kind's
//     name, as API conventions form plurals. Where a resource is called otherwise,
//     name its kind: kinds takes the place of resources in a resource rule.
//     matchPolicy Equivalent means Exact, because no object can be converted.
//   - What may be left out of a resource rule (apiGroups, apiVersions,
//     operations) is "*". Operations without CREATE, UPDATE and "*" match nothing.
//   - Whether a kind is namespaced is known for those of Kubernetes and for
//     definitions in the render; another object without a namespace is taken to be
//     in the destination's.
//   - Labels of a Namespace are known where it is in the render, and of any other
//     the label kubernetes.io/metadata.name. What depends on more finds nothing: a
//     namespaceSelector does not match, and a validation whose result hangs on
//     namespaceObject says nothing.
//   - messageExpression is not used for a Secret, and an error of an expression is
//     not quoted there: either could show a value.
package admission

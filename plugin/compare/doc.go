// Package compare sets two results of the pipeline side by side, object by object
// and field by field: two renderers on one input, or one renderer on two
// revisions. It answers what an upgrade or a commit changes before a cluster
// sees it. Values of Secrets are compared and never shown.
package compare

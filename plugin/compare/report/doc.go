// Package report shows a comparison of renders to people and to programs.
//
//	Text      for a terminal and for grep
//	Markdown  a comment on a pull request, within a number of bytes
//	HTML      one page with a filter and a view side by side, without network
//	JSON      everything, for programs
//
// All but JSON tell a report in one order: what was compared, the applications that
// differ, the causes, the objects with the fields that no cause covers, what could not
// be rendered. An object that changes by causes alone is counted and not listed, so
// that what an upgrade does to every object is read once and the rest can be seen.
//
// Names, values and messages come from repositories of strangers. Control characters
// and those that change the direction of text are shown and not acted upon, in
// Markdown all of it stands in code, and in HTML none of it can run.
//
// # JSON
//
// An object with the fields below. Lists are never null; a string that is "" may be
// left out.
//
//	apiVersion        "hallmark.dev/v1"
//	kind              "Comparison"
//	from, to          the two sides: renderer (such as "helm4"), ref ("main"; left out
//	                  for the work tree), commit (with "-dirty" behind it for a work
//	                  tree with changes)
//	notes             about the comparison, one line each
//	totals
//	  applications    total, added, removed, changed, unchanged, refused
//	  objects         added, removed, changed (with renamed ones), unchanged
//	causes            differences that repeat, those with most objects first
//	  path            of the fields, with * for what differs between them
//	  change          "added", "removed" or "changed"
//	  from, to        the values, or the parts of them that change
//	  whole           every field has the same values, which from and to show
//	  objects         the number of objects
//	  applications    the names of their applications
//	applications      by name
//	  name, origin    origin is the file and line of its manifest, or its folder
//	  status          "unchanged", "changed", "added", "removed" or "refused"
//	  counts          added, removed, changed, unchanged: numbers of objects
//	  from, to        the renderers with their versions ("helm3/v3.22.0")
//	  notes           one line each
//	  problems        what could not be rendered
//	    side          "from" or "to"; left out for both
//	    source        among several sources
//	    message, hint why, and the remedy
//	    absent        the source is not here to be rendered
//	  objects         those that differ
//	    object        group, kind, namespace, name
//	    was           the same of the object before, where it has another identity
//	    change        "added", "removed", "changed" or "renamed"
//	    origin        the file that it comes from
//	    fields        what differs in it
//	      path        for people
//	      pointer     the JSON pointer (RFC 6901)
//	      change      "added", "removed" or "changed"
//	      from, to    the values (null is one), left out for a side without the
//	                  field and if hidden
//	      hidden      the values are those of a Secret
//	      order       the order of a list differs; from and to are its items
//	      follows     the object whose new name makes the difference
//	      cause       an index in causes, or -1
//
// The manifests of the objects are in HTML alone.
package report

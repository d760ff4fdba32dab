// Package policy reads the RenderPolicy: the file in which a platform team says
// what applications may ask of a render. It is mounted beside the plugin
// (DefaultFile), never read from a repository, and nothing that an Application
// or its repository says can widen it.
//
//	apiVersion: hallmark.dev/v1
//	kind: RenderPolicy
//	metadata: {name: production}
//	spec:
//	  rules:
//	    - name: payments
//	      match:
//	        project: payments
//	        repoURL: https://git.example.com/payments/*
//	        namespace: [payments, payments-*]
//	      renderers: [helm3, helm4, kustomize, plain]
//	      decryption:
//	        keys: [age, pgp, hc_vault]
//	        endpoints: [https://vault.example.com:8200]
//	        outsideSecrets: warn
//	      fetchCharts: false
//	      determinism: enforce
//	      allowEmpty: false
//	      limits: {objects: 5000, renderTime: 60s}
//	    - name: nobody else
//	      match: {}
//	      renderers: []
//
// # Rules
//
// The first rule that matches decides, alone. Where none does, the default is
// the strictest there is: every renderer, and nothing else. A list that is to
// refuse the rest ends as the one above.
//
//   - name (required) is unique; every refusal names it.
//   - match holds a glob, or a list of globs of which one has to match, for each
//     of project, repoURL and namespace (the destination's). What is left out
//     matches everything.
//   - renderers: helm3, helm4, kustomize, plain. Default: all. An empty list
//     allows none.
//   - decryption: left out, nothing is decrypted. keys (required) are the kinds
//     of keys that may be used, by sops' own names: age, pgp, kms, gcp_kms,
//     azure_kv, hc_vault, hckms. All but age and pgp need the network. endpoints
//     are globs for the addresses that hc_vault and azure_kv keys may name. They
//     are required with these kinds, because the address stands in the
//     repository and is sent the sidecar's token. outsideSecrets says what
//     becomes of a decrypted value in an object that is no Secret: warn
//     (default), deny or allow.
//   - fetchCharts: false. hallmark fetches nothing while it renders.
//   - determinism: enforce (default) or warn. It holds where the application says
//     nothing, and is the weakest that it may ask for.
//   - allowEmpty: whether an application may set allow-empty. It has to ask for
//     it in any case. Default: false.
//   - limits: files, fileBytes, treeBytes, objects, outputBytes, memoryBytes
//     (whole numbers above 0) and renderTime (a duration such as 90s).
//
// Argo CD sends the project from version 3 on. With 2.14 it is empty; match on
// repoURL and namespace there.
//
// # Globs
//
// They are those of an AppProject: * is any run of characters, ? one character,
// [a-z] one of a class, [!a-z] one outside it, {a,b} one of two globs, and \ takes
// the meaning of the next character away. In a repository URL and an endpoint, *, ?
// and classes stop at a slash; ** does not. A glob that is * or ** matches
// everything, also nothing. There is no negation: a rule further up is one.
//
// The globs are matched here and not by the library that Argo CD uses, which
// panics on "{b*,b}" and "b", and takes "aba" for a match of "ab*ba". A test
// compares the two wherever the library is right.
//
// # Addresses
//
// Two spellings of one address compare equal: the scheme and the host in any
// case, with or without the scheme's own port, a slash or ".git" at the end, and
// user and password (the user of an ssh address stays: it says whose folder is
// meant). Argo CD goes further and compares paths in lower case and git@host:path
// with ssh://git@host/path. There are servers where these are two repositories,
// so here they are, and a list names both.
//
// An address that programs may read in several ways matches no glob but * and **:
// one with ".", ".." or nothing between two slashes; with a backslash, "?", "#",
// ";", brackets, white space or a control character; with percent encoding of
// anything but a space or what is not ASCII; with two "@" before the path; with a
// host that is not letters, digits, dots, hyphens and underscores; one that is
// longer than 2048 bytes. So a rule that grants something is never reached by an
// address that leads elsewhere.
//
// The reverse cannot be had: one repository has many addresses, such as names and
// numbers of its host. So grant by repoURL, and refuse by project or in the last
// rule.
package policy

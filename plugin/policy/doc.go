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
//	        keys:
//	          - age: age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p
//	          - pgp: 85D77543B3D624B63CEA9E6DBC17301B491B3F21
//	          - hc_vault: https://vault.example.com:8200/v1/transit/keys/payments-*
//	        outsideSecrets: deny
//	      fetchCharts: false
//	      determinism: enforce
//	      allowEmpty: false
//	      limits: {objects: 5000, renderTime: 60s}
//	      lint: {default: warn, rules: {job-deadline: deny}}
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
//   - decryption: left out, nothing is decrypted. See below.
//   - fetchCharts: false. hallmark fetches nothing while it renders.
//   - determinism: enforce (default), derive or warn, or a list of them. What is
//     named may be asked for, and enforce in any case; the first holds where the
//     application says nothing. derive needs a seed beside the policy. See below.
//   - derivation: what else counts where derive is allowed. See below.
//   - allowEmpty: whether an application may set allow-empty. It has to ask for
//     it in any case. Default: false.
//   - limits: files, fileBytes, treeBytes, objects, outputBytes, memoryBytes
//     (whole numbers above 0) and renderTime (a duration such as 90s).
//   - lint: left out, no release rules are checked. See below.
//
// Argo CD sends the project from version 3 on. With 2.14 it is empty; match on
// repoURL and namespace there.
//
// # Decryption
//
//	decryption:
//	  keys:
//	    - age
//	    - pgp: 85D77543B3D624B63CEA9E6DBC17301B491B3F21
//	    - kms: arn:aws:kms:eu-central-1:123456789012:key/*
//	    - gcp_kms: projects/shop/locations/*/keyRings/argocd/cryptoKeys/*
//	    - azure_kv: https://shop.vault.azure.net/keys/*
//	    - hc_vault: [https://vault.example.com:8200/v1/transit/keys/payments-*]
//	    - hckms: eu-west-101:*
//	  roles: [arn:aws:iam::123456789012:role/sops-*]
//	  outsideSecrets: deny
//
// keys (required) are the keys that may be used: each a kind, by sops' own name, or
// a kind with a glob or a list of globs, of which one has to match the public name
// of the key. All kinds but age and pgp need the network. The names:
//
//   - age: the recipient (age1...), and of an SSH key its kind and its fingerprint as
//     ssh-keygen -l prints it (ssh-ed25519 SHA256:...). It is the name of the
//     mounted identity that opens the file.
//   - pgp: the fingerprint of the primary key, in either case. Likewise.
//   - kms: the ARN. One that is not six fields with colons between them is refused.
//   - gcp_kms: the resource id.
//   - azure_kv, hc_vault: the address of the key, <vault URL>/keys/<name> and
//     <address>/v1/<engine>/keys/<name>, read as below. They need a glob that does
//     not leave the host open, because the address stands in the repository and is
//     sent the sidecar's token.
//   - hckms: the region, a colon and the id.
//
// roles are globs for the AWS roles that a file may ask to assume, by their ARN.
// Default: none.
//
// outsideSecrets says what becomes of a decrypted value outside of the data of a
// Secret: deny (default), warn or allow. What it finds is a value of at least 8
// bytes that stands in the object as it is or in base64. It cannot find a shorter
// one, nor what a template computed from a value: a part of it, a hash, another
// encoding.
//
// # Derived values
//
//	determinism: [enforce, derive]
//	derivation: {project: payments, outsideSecrets: warn}
//
// With derive what a chart makes at random (passwords, keys, certificates) is derived
// from a seed of the platform team and from the identity of the field: project,
// application, destination, object and field. So a rule that allows warn does not
// allow derive. Without a policy a server derives nothing.
//
// project is the project that values depend on where Argo CD sends none, as before 3.0.
// Without it nothing is derived there: with the upgrade, which begins to send it, all
// values would change. So it has to be the project that the Applications are in.
//
// outsideSecrets says what becomes of a derived value outside of the data of a Secret:
// deny, warn (default) or allow. It is not the deny of decryption: charts put what they
// make at random into environment variables and ConfigMaps, and annotate a pod with a
// hash of it. What it finds, and what it cannot find, is as with decryption.
//
// Whoever may get an Application with derive can have its derived values rendered into
// any object, from files of their own, as with decryption. They are those of this
// Application alone.
//
// # Release rules
//
//	lint:
//	  default: warn
//	  rules: {job-deadline: deny, image-tag: off, owner-label: deny}
//	  waivers: true
//	  healthChecks: [{group: example.com, kinds: [Widget]}]
//	  policies:
//	    - name: owner-label
//	      matchConstraints:
//	        resourceRules: [{apiGroups: [apps], apiVersions: ["*"], operations: ["*"], resources: [deployments]}]
//	      validations: [{expression: "'owner' in object.metadata.?labels.orValue({})", message: every Deployment names its owner}]
//
// The release rules (`hallmark lint --explain` lists them) are checked for what was
// rendered. A finding at the level deny refuses the render, one at warn goes to the
// log and into the evidence, and a rule at off is not checked.
//
//   - default: the level of the rules that are not named. Default: warn.
//   - rules: the levels of single rules. What is only advice is denied where a rule
//     is named with deny, and is warned of where deny is the default.
//   - waivers: whether an object may waive a rule by an annotation, with a day and a
//     reason (package plugin/rules has the form). Default: true. Where it is false an
//     annotation changes nothing. Who may write to the repository may waive, so
//     set it to false where a rule is to hold against them.
//   - healthChecks: custom resources whose health Argo CD is taught elsewhere, so
//     that a wave can wait for them. Each has a group and kinds.
//   - policies: the team's own rules, each a name and the fields of a
//     ValidatingAdmissionPolicy's spec (package plugin/rules/admission says what
//     differs). A name is that of no built-in rule. Fields of the policy, such as
//     failurePolicy, say what is a finding, and the levels above what becomes of it.
//
// # What a rule cannot bound
//
// A bare age (or pgp) opens all that any mounted key opens, also ciphertext that was
// copied from the repository of another team: anybody who can read it there can
// commit it here and have it rendered. Where teams have keys of their own, name
// them. Where one key serves several teams, each of them can read what is encrypted
// for it, and no rule changes that.
//
// Whoever may write to a repository with decryption can have its secrets rendered
// into any object, and read them where they may read that one. deny keeps them in
// Secrets, whose data Argo CD does not show, as far as outsideSecrets finds them.
//
// The same holds for readers: whoever may get an Application with decryption can
// have manifests rendered from files of their own (argocd app diff --local
// --server-side-generate), with the project, the repoURL and the namespace of that
// Application. So deny matters, and such a reader is trusted with the secrets that
// the rule opens.
//
// The default, where no rule matches, and a rule without renderers allow every
// renderer. A rule says what a render may use, not what comes out of it: kinds and
// destinations are bounded by the AppProject.
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
// Scheme, user, host and path of a glob are each matched with that of the address
// alone. ** is refused in front of the path, where it would span nothing, and a *
// at the end of a host, since anybody can register a host that begins as another.
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

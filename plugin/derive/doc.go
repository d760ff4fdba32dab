// Package derive makes the random values of a chart reproducible: passwords, keys,
// cookies, certificates, and what is computed of them, are derived from a seed.
//
// # How it is found out what is random
//
// A chart whose renders differ is rendered two more times from edited templates (package
// chart makes the edits). There each call of a random function prints a frame in place
// of a value: which function it is, how long the value is, and a nonce of this one
// execution. Each hash function prints a frame with its input, if there is one in that; the
// time is fixed, and what `values` gives is sorted. Frames consist of letters and digits, so
// they come through quotes, JSON, base64 and the like. Where they end up tells which fields
// are random, what form they have, and which of them share one value. Nothing is guessed
// from samples, so each process comes to the same result.
//
// Then the chart is rendered with the derived values: what a template makes of them, by
// cutting, testing, sorting, computing or whatever it does, is what Helm makes of them,
// and that is the result. A value that is printed nowhere as a whole lives in a field that
// changes if the value does. Where none is found though one may depend on the value, or
// where something else is not the same in two such renders, the field is refused.
//
// A text that is made so that taking it apart would take much longer than its length asks
// for is refused, and so are more than 256 random certificates and keys.
//
//	frame.go     writes and reads one frame
//	text.go      takes a text apart: frames, base64 with frames in it, PEM blocks
//	index.go     finds the values of a render, and the home of each
//	keyed.go     tells several values in one text apart
//	align.go     finds which values of the objects a checksum is over
//	normalise.go holds the two renders against each other: beside the values themselves
//	             they have to be the same
//	match.go     holds frames against a render with known values: where that does not have
//	             the form that they foretell, the template did something else with the value
//	token.go, computed.go, certificates.go  make the values, evaluate.go puts them into texts
//	times.go     tells a time by what it looks like at three
//	resolve.go   walks through the fields and puts all of it together
//	adopt.go     takes over what the chart made of derived values
//
// # What stays in place
//
// A value depends on the seed and on
//
//	the project, the destination's namespace and the name of the application,
//	the group, kind, namespace and name of the object (of one without a name, what its
//	name is generated from), and the field,
//	the function of the chart and what it was asked for (length, range),
//	the generation: that of the application, and that of the field,
//
// and on nothing else: not on other objects, the order of templates, the versions of
// chart, engine and Kubernetes API, or the time (certificates, whose validity is one,
// have a rule of their own). A value that several fields share belongs to its home, the
// first by this order:
//
//   - a field in the data of a Secret that holds nothing else, through base64,
//   - another field of a Secret,
//   - any other field;
//   - then the same three in objects that are hooks;
//   - a field that holds this value or another one, as the greater of two;
//   - if it is printed nowhere as a whole, the first of those that depend on it, those with
//     a hash of it last;
//   - among equals the first by object, then by field.
//
// So a chart that begins to print a password in one more place leaves it as it is, unless
// that place is a better home. A field that holds several values of its own tells them
// apart by the key in front of each in its line ("password:", "PASSWORD="), and numbers
// those behind one key by function in the order in which they stand there, with those that
// live elsewhere: so none gets the place of one that moves away, and each behind one that
// comes gets another. That goes for what is made of a value that is printed nowhere as a
// whole, too, as long as no more than 16 such values change one field. Private keys
// and certificates are numbered together, without those that are no random ones. A field
// of a Secret's stringData is that of its data, so a value may move from one to the other.
// Items of lists go by their names where they have any, see [Name]. A password whose length
// changes is another password and has no part in common with the old one.
//
// Neither of the two generations may ever go down: then values come again that were
// rotated out. As they count as a pair, rotating one field first and everything later
// gives a third value for it, and not that of either.
//
// Exactly: the identity is the list "hallmark/derive/v1", project, namespace, application,
// group, kind, namespace (empty if it is the destination's), name (or the generateName with
// "%" behind it, which no name holds), pointer ("/data/" in place of "/stringData/" in a
// Secret), "#" and the number from 0 ("%" in its place for a value that is printed nowhere)
// and behind a blank the key if there is one, function, generation, request. The generation
// is that of the application, and behind a dot that of the field where it is not 0: "1",
// "0.1", "1.1". Each part is written behind its length, as 8 bytes, big end first.
// HMAC-SHA256 of that under the seed is a key; HMAC-SHA256 under this key of 0, 1, 2 and
// so on, as 8 bytes each, is the stream. A letter is the next 8 bytes of it as a number,
// modulo the size of the alphabet, where numbers from the last multiple of that size on are
// left out, so all letters have the same chance. The alphabets are those of sprig.
//
// # What is computed
//
// Hashes are evaluated over final values, from the inside out: a checksum annotation
// moves if and only if the content moves. bcrypt and htpasswd verify against the derived
// password; their salt is derived too.
//
// A file or named template that is included for its checksum is executed once more, with
// random values of its own, which are taken to be those of the objects:
//
//   - where a file includes another one, call by call,
//   - where what is hashed is the text of one of the files, value by value,
//   - else where the same call of the chart, asked for the same, prints a value into the
//     objects behind the same text of its line, such as "password:" (quotes, blanks and
//     the way in which lists and mappings are written do not count). Several such values
//     are told apart by their order, where one file or object has as many as what is
//     hashed; of several files and objects by what else is hashed and by the chart,
//   - and where it is printed nowhere as a whole: if nothing but the checksum depends on
//     it, in order for those of the same call on which other fields depend, as long as
//     these are as many.
//
// So a checksum may be over a part of a file, over some of them, or over one in base64, in
// JSON or indented, and may be cut. Where values remain that it can be over, it is refused.
// A value that its call prints into a hash alone stands for no other; it lives in the field
// with the hash. So does one in a hash in the data of a Secret, which is no checksum, but a
// secret of its own; unless it is a file that is hashed there.
//
// # What is refused
//
// By name, with the reason: a random name or namespace of an object (a name is an
// identity), a random field name; what differs and comes from none of the known functions,
// such as encryptAES; templates whose objects, or whose random calls, depend on a random
// value; random values of objects without a name of which there are several of one
// generateName; a field with a certificate or a key with which the template does more than
// print it; a checksum over one of several values; a derived value that the template
// refuses, since it has no digit, say: another generation has another one. What differs
// by order alone gets the value of the sorted order. What differs at three times in nothing
// but what looks like a time, or a number of one, gets that of the fixed time: a template that
// decides by the time is refused, as that is the same at two of them. One that decides by a
// time between them, in three ways, is not.
//
// # What is not seen
//
// A value that is printed nowhere can still decide something. It is tried with values that
// together hold most characters, with one that holds every letter and digit, and with the
// ends and the middle of a range of numbers. A test that none of these passes, such as one for a
// certain word or for one number of many, is taken for one that never does. If a template
// fails at a frame there, its file is refused.
//
// # What an attacker can learn
//
//   - Who sees the manifests sees the values in them, as with every chart: no more.
//     One value tells nothing about the seed or about another value, of the same
//     application or of another one, of an earlier or a later generation, since HMAC is
//     a pseudorandom function. So a leaked password is rotated by its generation and the
//     seed stays.
//   - Who sees the repository, that is charts, values, generations and what this text
//     says, sees nothing of the values without the seed. Identities are not secret.
//   - Who has the seed has every value of every application that uses it, past, present
//     and future, of all generations. Rotation by generation does not help then: it takes
//     a new seed, and so new values everywhere. Keep it as the root key that it is.
//   - Who may render under the name of an application, project and destination can have
//     its values printed: the identity is no permission. Policy says who may.
//   - A value is as hard to guess as what the chart's function gives, and no harder: six
//     digits are six digits. Nor is it harder than the seed, or than 256 bits. Who sees
//     a hash of a short value, such as the checksum of a file in which all else is known,
//     can find the value by trying all of them, as they could before; but such a hash of
//     a derived value stays there as long as the value does.
//   - Who sees that two values are equal over time sees that nobody rotated them. A salt
//     that is derived does not show whether two users have one password: it depends on the
//     field.
//
// The cluster of the destination is no part of an identity, because Argo CD does not tell
// plugins which it is: two instances of Argo CD that share a seed give applications of
// one name, project and namespace one set of values. Give each a seed of its own.
//
// The seed is in no output. Who loses it cannot render the same values again: what runs
// keeps the values that the cluster has, and the next render under another seed gives
// new ones. So it needs a backup, kept like those of other root keys.
package derive

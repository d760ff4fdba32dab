// Package decrypt is a file system that decrypts SOPS files when they are read.
//
// An [FS] stands between a renderer and a source.View. Whoever reads an encrypted
// file through it, as a values file, as a manifest, as a file of a generator, gets
// what `sops -d` prints; the View below has read the ciphertext, and only that
// enters the inputs hash. So a template can encode a decrypted value, a patch can
// merge into a decrypted resource, and no renderer knows of SOPS. A file is
// decrypted once, and only if it is read. Plaintext stays in memory, and ends with
// the FS.
//
// # What is an encrypted file
//
// The metadata decides, not the name: a file is encrypted where sops finds its
// metadata in it. The name is asked only where one text is a valid file of two
// formats (JSON is YAML, and a binary file is JSON with the single key "data"):
// then it is what `sops -d` takes it for. A file that does not parse, or that only
// holds the text of an encrypted file, is given as it is; package gate looks for
// what is left. Unlike `sops -d`, an FS reads metadata without a version, and it
// takes a file whose name says nothing by what it holds. What stands inside of
// an archive, such as a packaged dependency of a chart, is not looked at.
//
// # What sops does and what is done here
//
// Formats, the tree, the cipher, the MAC, key groups and Shamir's threshold, and
// the key services of the clouds are those of github.com/getsops/sops, whose only
// importer this package is. Three things are not:
//
//   - The identities. sops reads the environment of the process for each file and
//     does not say which keys it had. Here they come from [Keys], once for each FS,
//     so that a rotated mount is seen by the next render, and an error names them by
//     their public parts. No gpg is needed: a key ring is read as `gpg
//     --export-secret-keys` writes it, without a passphrase.
//   - What is asked for. A file says whom it is encrypted for, and for some kinds of
//     keys names the server that gets the process's token. [Permit] says which
//     identities and which names may be used, a name has the form of a key's, and
//     questions end after a while, and with the render. The services of AWS, GCP
//     and Vault are tested against stand-ins; those of Azure and Huawei are wired in
//     the same way and only their names and refusals are.
//   - Logs and messages. sops logs comments that it cannot decrypt, and its errors
//     quote values and the MAC, which is a plain hash of the plaintext. Its loggers
//     are silent here and its errors are worded anew. Each decrypted value goes to
//     Options.Secrets, which takes it out of whatever an engine says later.
package decrypt

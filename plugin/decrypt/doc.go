// Package decrypt turns files that SOPS encrypted into plaintext, in memory and
// for one render. It is the only importer of getsops/sops.
//
// Plaintext lives between decryption and the response and nowhere else: it is
// never written to disk, logged, or put into an error, a metric, an evidence
// record or a hash. An error names the file, the recipients that it wants and
// the identities that were tried, by their public parts.
//
// Nothing is decrypted yet: package gate refuses ciphertext that reaches the
// output.
package decrypt

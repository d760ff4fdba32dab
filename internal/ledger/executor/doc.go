// Package executor runs a command under a claim of the migration ledger.
//
//	claim -> start the command -> renew the lease -> it ends -> check the invariants -> complete
//
// Nothing is run that is not granted. While the command runs its lease is renewed, a
// third of its length after the last time. When a renewal says that the lease is lost,
// or none was had until shortly before it runs out, the command's process group gets
// SIGTERM, and SIGKILL before the lease is over: then nobody can take it for dead while
// it is still at work. The same happens within the grace period when the executor is
// told to stop, or sooner where the lease is lost meanwhile. The length of a lease is
// measured on the monotonic clock from the moment that it was asked for, so that it never
// looks longer here than to the database. A claim whose answer comes so late that the
// lease is over gives no right.
//
// Whoever is killed leaves a row in state RUNNING, whose lease runs out: a person
// investigates. On Linux the command gets SIGKILL when its executor dies; processes that
// it has started itself may live on, which is one more reason to look before a retry.
//
// A command that ended while processes of its group, or holders of its output, go on is
// not done: those of the group are stopped, and the attempt is FAILED. Processes that
// have left the group are out of reach, and nobody knows of those that have neither its
// group nor its output.
//
// A log that nobody reads holds the command up, as pipes do, but not what is recorded:
// what is left of it when the command has ended is dropped after a moment.
//
// This package asks the system for time, and only for how much has passed: processes and
// connections go by no other clock, so that one that is passed in would prove nothing.
package executor

// Package ledger is the migration ledger: a release side effect as a row with a
// stable business key, which Argo CD can gate on.
//
// The row is the authority. A Job that is Complete says that a container exited
// 0, not that the side effect is committed; and a lease that ran out means
// "investigate", never "it did not happen".
package ledger

// Package controller keeps the status of each MigrationLedger at what its database has:
// once with [Controller.Once], or for as long as it runs with [Controller.Watch].
//
// # Looks
//
// Objects that name the same database, tool and table share a look: one query for the
// keys of all of them. A look comes each interval, a little later by chance, so that
// those of many databases spread. A new object or a changed spec brings the look of its
// source forward, to about a second from then; a hundred new objects make one look.
// Nothing tells this process of a change in a database, and a lease runs out without
// anybody's doing: both show at the next look, by the database's clock.
//
// What is read is projected ([projection.Project]) and written where it differs from
// what is there, by server-side apply on the status alone.
//
// # Faults
//
// A database that cannot be read is asked again after a time that doubles, up to two
// minutes; so is a write that the API server refuses, for each object by itself. Where
// several writes in a row fail the rest waits for the next look, since the fault is
// hardly the objects'. An object whose database is known to be unreadable is told so at
// once, without another query.
//
// An object that is gone or being deleted is passed over.
//
// # Memory
//
// An object is held without status.changes, of which a digest tells whether they are to
// be written, and without managed fields and labels. Where a database cannot be read,
// the object is fetched before its status is written: what is applied is all of it. A
// list comes in pages. What a look read is held as long as the look.
//
// # Rights
//
// get, list and watch of migrationledgers, and patch of migrationledgers/status.
package controller

// Package pgtest gives tests a real PostgreSQL: Debian's package postgresql, on
// loopback, in a temporary folder.
//
// A package that uses it has
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
// and its tests share one server, each with databases of its own. Tests that stop
// the server or lose its network take a server of their own, or a [Proxy] in front
// of it. Where PostgreSQL is not installed tests are skipped, and fail where the
// variable CI is set.
package pgtest

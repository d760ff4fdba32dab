// Package house holds the rules of the house as a test: which folder may
// import what, which third-party modules have one importer only, and that each
// folder says what it is for. Nothing imports it.
package house

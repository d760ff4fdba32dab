// Package library embeds the health specs that ship with hallmark, one folder for
// each API group, each spec with its cases. It holds data only.
package library

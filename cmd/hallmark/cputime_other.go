//go:build !linux

package main

import "time"

var started = time.Now() //nolint:forbidigo // the clock comes from cmd

// threadTime is the time that has passed: the processor time of a thread is not
// known everywhere.
func threadTime() time.Duration { return time.Since(started) } //nolint:forbidigo // the clock comes from cmd

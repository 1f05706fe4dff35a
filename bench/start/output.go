package main

import (
	"bytes"
	"regexp"
	"sync"
)

// output collects what a program prints.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns everything that was printed.
func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

var projectKey = regexp.MustCompile(`\bphc_\w+`)

// key returns the first project key that was printed, or "".
func (o *output) key() string { return projectKey.FindString(o.String()) }

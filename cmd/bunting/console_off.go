//go:build no_console

package main

import "net/http"

// consolePages returns nil: this build has no console.
func consolePages() http.Handler { return nil }

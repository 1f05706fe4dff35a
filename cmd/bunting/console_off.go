//go:build no_console

package main

import "net/http"

// consolePages are left out of this build.
func consolePages() http.Handler { return nil }

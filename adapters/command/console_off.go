//go:build no_console

package command

import "net/http"

// consolePages returns nil: this build has no console.
func consolePages() http.Handler { return nil }

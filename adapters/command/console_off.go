//go:build no_console

package command

import "net/http"

// consolePages returns nil: this build has no console.
func consolePages() http.Handler { return nil }

// docsPages returns nil: this build has no documentation.
func docsPages() http.Handler { return nil }

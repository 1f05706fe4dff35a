//go:build !no_console

package command

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/console"
)

// consolePages serves the web console.
func consolePages() http.Handler { return console.New() }

//go:build !no_console

package command

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/console"
	"github.com/bunting-flags/bunting/adapters/internal/docs"
)

// consolePages serves the web console.
func consolePages() http.Handler { return console.New() }

// docsPages serves the documentation.
func docsPages() http.Handler { return docs.New() }

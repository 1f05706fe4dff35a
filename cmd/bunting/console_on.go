//go:build !no_console

package main

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/console"
)

// consolePages are what people see in a browser.
func consolePages() http.Handler { return console.New() }

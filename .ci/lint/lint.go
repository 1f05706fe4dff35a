// Package lint contains the settings of the linters, and tests of scripts that CI runs.
package lint

import _ "embed"

// Revive are the rules of revive, in TOML.
//
//go:embed revive.toml
var Revive []byte

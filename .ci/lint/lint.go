// Package lint has the settings of the linters.
package lint

import _ "embed"

// Revive are the rules of revive, in TOML.
//
//go:embed revive.toml
var Revive []byte

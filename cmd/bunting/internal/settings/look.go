package settings

import (
	"path/filepath"
	"strings"

	"github.com/bunting-flags/bunting/adapters/server"
)

// IsIn reports whether a value comes from a source, such as the command line, where
// every user of the machine can read it.
func (r *Resolved) IsIn(name, source string) bool {
	for i := range All {
		if All[i].Name == name {
			return strings.HasPrefix(r.values[i].origin.source, source)
		}
	}
	return false
}

// Given is the value of a setting that has one.
func (r *Resolved) Given(name string) string {
	for i := range All {
		if All[i].Name == name && len(r.values[i].Values) > 0 {
			return r.values[i].Values[0]
		}
	}
	return ""
}

// IsSet reports whether a setting has a value.
func (r *Resolved) IsSet(name, value string) bool { return r.Given(name) == value }

// DatabaseURL is where everything is stored, in the working directory without --data.
func (c *Config) DatabaseURL() string {
	if c.Database != "" {
		return c.Database
	}
	return "sqlite:" + filepath.Join(c.Data, server.DatabaseFile)
}

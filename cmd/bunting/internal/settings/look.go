package settings

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/server"
)

// value returns the value of a setting and its source.
func (r *Resolved) value(name string) provided {
	return r.values[slices.IndexFunc(All, func(s setting) bool { return s.Name == name })]
}

// IsIn reports whether the value of a setting is from a source, such as the command line, which
// every user of the machine can read.
func (r *Resolved) IsIn(name, source string) bool {
	return strings.HasPrefix(r.value(name).origin.source, source)
}

// Value returns the value of a setting, or the first value of a list.
func (r *Resolved) Value(name string) string {
	if values := r.value(name).Values; len(values) > 0 {
		return values[0]
	}
	return ""
}

// IsSet reports whether a setting has a value.
func (r *Resolved) IsSet(name, value string) bool { return r.Value(name) == value }

// DatabaseURL returns the URL of the database. Without --database it is a file in the data folder.
func (c *Config) DatabaseURL() string {
	if c.Database != "" {
		return c.Database
	}
	return "sqlite:" + filepath.Join(c.Data, server.DatabaseFile)
}

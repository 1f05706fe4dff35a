package settings

import (
	"net"
	"net/netip"
	"path/filepath"
	"strings"
)

// isIn reports whether a value stands on the command line, where every user of the
// machine can read it.
func (r *Resolved) IsIn(name, source string) bool {
	for i := range All {
		if All[i].Name == name {
			return strings.HasPrefix(r.values[i].origin.source, source)
		}
	}
	return false
}

// given is the value of a setting that has one.
func (r *Resolved) Given(name string) string {
	for i := range All {
		if All[i].Name == name && len(r.values[i].Values) > 0 {
			return r.values[i].Values[0]
		}
	}
	return ""
}

func (r *Resolved) IsSet(name, value string) bool { return r.Given(name) == value }

// public reports whether others than this machine and private networks reach the
// server.
func (c *Config) Public() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil || host == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return true // an empty host is every address, a name may be any
	}
	ip = ip.Unmap()
	return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast()
}

// databaseFile is the SQLite file in the data folder.
const DatabaseFile = "bunting.db"

// databaseURL is where everything is stored.
func (c *Config) DatabaseURL() string {
	if c.Database != "" {
		return c.Database
	}
	return "sqlite:" + filepath.Join(c.Data, DatabaseFile)
}

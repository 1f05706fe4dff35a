// Package settings contains the settings of bunting serve: a table with a row for each setting, and
// the resolution of their values from several sources.
package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/mail"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/certificates"
	"github.com/bunting-flags/bunting/adapters/server"
	"github.com/bunting-flags/bunting/geoip"
)

// Config is the configuration of serve.
type Config struct {
	server.Options
	OwnerKeyFile string
	SignInLink   bool // print a link even after an earlier sign-in
	HasDocs      bool // serve the documentation
	logLevel     slog.Level
	logJSON      bool
}

type kind uint8

// The kinds of settings.
const (
	text kind = iota
	number
	Boolean
	list
)

var kindNames = [...]string{"text", "a whole number", "true or false", "an array of texts"}

// setting is one row of the table. Its option is --name, its environment variable BUNTING_NAME, and
// its member in the config file is the name with underscores.
type setting struct {
	Name     string
	Kind     kind
	Arg      string // placeholder of the value in the help
	Fallback []string
	Help     string
	// set checks and stores the value: one element, or any number for a list. Its error describes
	// the valid values.
	set func(c *Config, v []string) error
}

func (s *setting) member() string { return strings.ReplaceAll(s.Name, "-", "_") }

// Env returns the setting's environment variable.
func (s *setting) Env() string { return "BUNTING_" + strings.ToUpper(s.member()) }

// All is the table of all settings of serve.
var All = slices.Concat([]setting{
	{"listen", text, "HOST:PORT", []string{"127.0.0.1:8000"}, "address to listen on; port 0 chooses a free port, an empty host means every address of the machine",
		func(c *Config, v []string) error {
			c.Listen = v[0]
			if _, port, err := net.SplitHostPort(v[0]); err != nil || port == "" {
				return fmt.Errorf("must be HOST:PORT such as 127.0.0.1:8000 or :8000, not %q", v[0])
			}
			return nil
		}},
	{"definitions", list, "FILE", nil, "file with projects and flags, watched for changes; may be repeated",
		func(c *Config, v []string) error { c.Definitions = v; return nil }},
	{"api-key", text, "KEY", []string{""}, "project key of a file that is a bare definitions payload, as PostHog serves it",
		func(c *Config, v []string) error { c.APIKey = v[0]; return nil }},
	{"data", text, "DIR", []string{"bunting-data"}, "folder for all stored data, created if missing; only one server can use it at a time",
		func(c *Config, v []string) error { c.Data = v[0]; return nil }},
	{"database", text, "URL", []string{""}, "database to use instead of the data folder: postgres://USER@HOST/NAME, or sqlite::memory: to store nothing",
		func(c *Config, v []string) error { c.Database = v[0]; return nil }},
	{"segments", text, "DIR", []string{""}, "folder (created if missing) or s3://BUCKET/PREFIX for older events as Parquet files; servers that share a database need the same one, and the database always needs it from then on",
		func(c *Config, v []string) error { c.Segments = v[0]; return nil }},
	{"segments-after", text, "DURATION", []string{"24h"}, "age of an event from which it is in a segment file at the latest; 1s or more. Until then, events are written to files when there are tens of thousands of a project",
		durationIn(func(c *Config) *time.Duration { return &c.SegmentsAfter }, time.Second, 366*24*time.Hour, "from 1s to 8784h such as 1h")},
	{"fixtures", text, "FILE", []string{""}, "for tests: file with the value of each flag, watched for changes; nothing is stored",
		func(c *Config, v []string) error {
			if v[0] == "" {
				return nil
			}
			if len(c.Definitions) > 0 || c.Database != "" {
				return errors.New("cannot be used with --definitions or --database")
			}
			c.Definitions, c.Data, c.Database = v, "", "sqlite::memory:"
			return nil
		}},
	{"owner-email", text, "ADDRESS", []string{server.DefaultOwnerEmail}, "e-mail address of the owner of what the first start creates, or finds in --definitions",
		func(c *Config, v []string) error {
			c.OwnerEmail = v[0]
			if a, err := mail.ParseAddress(v[0]); err != nil || a.Address != v[0] {
				return fmt.Errorf("must be an address such as owner@example.com, not %q", v[0])
			}
			return nil
		}},
	{"owner-key-file", text, "FILE", []string{""}, "file with the owner's personal key for the first start; if it does not exist, the new key is written to it (mode 0600) instead of printed",
		func(c *Config, v []string) error { c.OwnerKeyFile = v[0]; return nil }},
	{"memory", text, "SIZE", []string{"256MB"}, "memory of the process, such as 1GB (of 1024MB): 256MB or more, and at most what the machine has. Caches and the limits of queries are in proportion to it",
		func(c *Config, v []string) (err error) { c.Memory, err = parseSize(v[0]); return err }},
	{"retain-events", number, "DAYS", []string{"0"}, "delete events after this many days; 0 keeps them",
		intInRange(func(c *Config) *int { return &c.RetainDays }, 0, math.MaxInt, "a number of days, 0 or more")},
	{"posthog-js", text, "DIR", []string{""}, "copy of npm's posthog-js/dist that the HTML snippet and posthog-js load scripts from (npm pack posthog-js, tar xzf posthog-js-*.tgz: package/dist)",
		func(c *Config, v []string) error { c.PosthogJS = v[0]; return nil }},
	{"geoip", text, "FILE", []string{""}, "City or Country database (.mmdb) that locates addresses, watched for changes",
		func(c *Config, v []string) error { c.GeoIP = v[0]; return nil }},
	{"geoip-strict", Boolean, "", []string{"false"}, "locate only addresses that a trusted proxy reports, not those that any client reports",
		func(c *Config, v []string) (err error) { c.StrictGeoIP, err = strconv.ParseBool(v[0]); return err }},
	{"trusted-proxies", list, "CIDRS", defaultProxies(), "networks of proxies that are trusted to report a client's address for rate limits",
		func(c *Config, v []string) error {
			networks, err := parseNetworks(v)
			c.TrustedProxies = append([]netip.Prefix{}, networks...) // not nil: an empty list trusts no proxies
			return err
		}},
	{"export-networks", list, "CIDRS", nil, "networks that batch exports and webhooks may send to besides public addresses, such as 10.0.0.0/8",
		func(c *Config, v []string) (err error) { c.ExportNetworks, err = parseNetworks(v); return err }},
	{"max-body", number, "BYTES", []string{strconv.Itoa(httpapi.DefaultMaxBody)}, "largest request body, as sent and decompressed",
		intInRange(func(c *Config) *int64 { return &c.MaxBody }, 1, math.MaxInt64, "a number of bytes above 0")},
	{"rate-limit", text, "off|api|log|on", []string{"api"}, "rate limits: off, api (only the management API), on (flags too), or log (log what flags would refuse)",
		oneOf(rateLimits, "off, api, log or on", func(c *Config, l limits) {
			c.RateLimits, c.ManagementLimits = l.flags, l.management
		})},
	{"rate-limit-keys", list, "KEY=RATE", nil, "rate limits of individual project keys, such as phc_abc=1200/minute, at most 100; may be repeated",
		func(c *Config, v []string) error {
			c.TokenRates = map[string]httpapi.Rate{}
			for _, text := range v {
				key, rate, _ := strings.Cut(text, "=")
				limit, err := httpapi.ParseRate(rate)
				if err != nil || key == "" {
					return fmt.Errorf("must be KEY=RATE such as phc_abc=1200/minute, not %q", text)
				}
				c.TokenRates[key] = limit
			}
			if len(c.TokenRates) > httpapi.MaxTokenRates {
				return fmt.Errorf("at most %d keys may have their own limit, not %d", httpapi.MaxTokenRates, len(c.TokenRates))
			}
			return nil
		}},
	{"drain", text, "DURATION", []string{"0s"}, "after SIGTERM, how long /_readiness returns 503 while requests are still answered, so that a load balancer stops sending; at most 10m",
		durationIn(func(c *Config) *time.Duration { return &c.Drain }, 0, 10*time.Minute, "from 0s to 10m such as 5s")},
	{"log-level", text, "LEVEL", []string{"info"}, "lowest level that is logged: debug, info, warn or error",
		oneOf(logLevels, "debug, info, warn or error", func(c *Config, level slog.Level) { c.logLevel = level })},
	{"log-requests", text, "off|errors|all", []string{"errors"}, "which requests are logged: off, errors (status 400 and above, 10 per second, bursts of 100) or all; failed authentication is always logged",
		oneOf(requestLogs, "off, errors or all", func(c *Config, which httpapi.RequestLog) { c.LogRequests = which })},
	{"log-format", text, "text|json", []string{"text"}, "format of the log, which is written to the standard error",
		oneOf(map[string]bool{"text": false, "json": true}, "text or json", func(c *Config, json bool) { c.logJSON = json })},
}, consoleSettings, querySettings, tlsSettings, mailSettings, streamSettings, backupSettings, shadowSettings)

// intInRange returns a set function for an integer from minimum to maximum.
func intInRange[N int | int64](field func(*Config) *N, minimum, maximum N, want string) func(*Config, []string) error {
	return func(c *Config, v []string) error {
		n, err := strconv.ParseInt(v[0], 10, 64)
		if err != nil || n < int64(minimum) || n > int64(maximum) {
			return fmt.Errorf("must be %s, not %q", want, v[0])
		}
		*field(c) = N(n)
		return nil
	}
}

// bytesOrZero returns a set function for zero or a number of bytes from a mebibyte.
func bytesOrZero(field func(*Config) *int64) func(*Config, []string) error {
	return func(c *Config, v []string) error {
		n, err := strconv.ParseInt(v[0], 10, 64)
		if err != nil || n < 0 || n > 0 && n < 1<<20 {
			return fmt.Errorf("must be 0, or 1048576 bytes or more, not %q", v[0])
		}
		*field(c) = n
		return nil
	}
}

// durationIn returns a set function for a duration from minimum to maximum.
func durationIn(field func(*Config) *time.Duration, minimum, maximum time.Duration, want string) func(*Config, []string) error {
	return func(c *Config, v []string) error {
		d, err := time.ParseDuration(v[0])
		if err != nil || d < minimum || d > maximum {
			return fmt.Errorf("must be a duration %s, not %q", want, v[0])
		}
		*field(c) = d
		return nil
	}
}

// oneOf returns a set function for a value that must be a key of words.
func oneOf[T any](words map[string]T, want string, take func(*Config, T)) func(*Config, []string) error {
	return func(c *Config, v []string) error {
		value, ok := words[v[0]]
		if !ok {
			return fmt.Errorf("must be %s, not %q", want, v[0])
		}
		take(c, value)
		return nil
	}
}

// limits are the limits of a value of --rate-limit. If management is nil, the defaults apply.
type limits struct {
	flags      httpapi.RateLimits
	management *httpapi.ManagementLimits
}

var rateLimits = map[string]limits{
	"off": {management: &httpapi.ManagementLimits{}}, "api": {}, "on": {flags: httpapi.DefaultRateLimits()}, "log": {flags: onlyLogged()},
}

func onlyLogged() httpapi.RateLimits {
	l := httpapi.DefaultRateLimits()
	l.LogOnly = true
	return l
}

var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

var requestLogs = map[string]httpapi.RequestLog{
	"off": httpapi.LogNoRequests, "errors": httpapi.LogFailedRequests, "all": httpapi.LogAllRequests,
}

func defaultProxies() []string {
	var out []string
	for _, network := range geoip.DefaultTrusted() {
		out = append(out, network.String())
	}
	return out
}

func parseNetworks(texts []string) (out []netip.Prefix, err error) {
	for _, text := range texts {
		network, err := parseNetwork(text)
		if err != nil {
			return nil, err
		}
		out = append(out, network)
	}
	return out, nil
}

func parseNetwork(s string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(s); err == nil { // a single address
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	network, err := netip.ParsePrefix(s)
	if err != nil {
		return network, fmt.Errorf("must be networks such as 10.0.0.0/8, not %q", s)
	}
	return network.Masked(), nil
}

// tlsSettings are the settings of HTTPS.
var tlsSettings = []setting{
	{"tls-cert", text, "FILE", []string{""}, "PEM file with the certificate chain, the server's own first, to serve HTTPS; read again on SIGHUP",
		func(c *Config, v []string) error { c.TLS.Cert = v[0]; return nil }},
	{"tls-key", text, "FILE", []string{""}, "PEM file with the private key of --tls-cert",
		func(c *Config, v []string) error { c.TLS.Key = v[0]; return nil }},
	{"acme", list, "DOMAIN", nil, "serve HTTPS with a certificate for these domains from Let's Encrypt, whose terms you agree to; stored in the data folder and renewed",
		func(c *Config, v []string) error { c.TLS.Domains = v; return certificates.CheckDomains(v) }},
	{"acme-http", text, "HOST:PORT", []string{""}, "address that answers the authority over HTTP, such as :80, and redirects other requests to HTTPS; if empty, it is answered on --listen, which port 443 must lead to",
		func(c *Config, v []string) error {
			c.TLS.HTTP = v[0]
			if _, port, err := net.SplitHostPort(v[0]); v[0] != "" && (err != nil || port == "") {
				return fmt.Errorf("must be HOST:PORT such as :80, not %q", v[0])
			}
			return nil
		}},
	{"acme-email", text, "ADDRESS", []string{""}, "address at which the authority may warn you",
		func(c *Config, v []string) error {
			c.TLS.Email = v[0]
			if a, err := mail.ParseAddress(v[0]); v[0] != "" && (err != nil || a.Address != v[0]) {
				return fmt.Errorf("must be an address such as ops@example.com, not %q", v[0])
			}
			return nil
		}},
	{"acme-directory", text, "URL", []string{""}, "another authority than Let's Encrypt: its ACME directory",
		func(c *Config, v []string) error {
			if c.TLS.Directory = v[0]; v[0] == "" {
				return nil
			}
			return certificates.CheckDirectory(v[0])
		}},
}

// Scheme returns the scheme of the server's URL, http or https.
func (c *Config) Scheme() string {
	if c.TLS.Cert != "" || len(c.TLS.Domains) > 0 {
		return "https"
	}
	return "http"
}

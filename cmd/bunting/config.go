package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/geoip"
)

// config is what serve runs with.
type config struct {
	listen, data     string
	database         string
	retainEvents     int
	ownerEmail       string
	ownerKeyFile     string
	definitions      []string
	apiKey           string
	geoIP            string
	posthogJS        string
	geoIPStrict      bool
	trustedProxies   []netip.Prefix
	exportNetworks   []netip.Prefix
	maxBody          int64
	rateLimits       httpapi.RateLimits
	managementLimits httpapi.ManagementLimits
	tokenRates       map[string]httpapi.Rate
	logLevel         slog.Level
	logFormat        string
	logRequests      httpapi.RequestLog
	tls              tlsFiles
	mail             mailConfig
	stream           streamConfig
	drain            time.Duration
	shadow           shadowConfig
}

type kind uint8

const (
	text kind = iota
	number
	boolean
	list
)

var kindNames = [...]string{"text", "a whole number", "true or false", "an array of texts"}

// setting is one row of the table: --name, BUNTING_NAME, and the member name
// (with underscores) of the config file.
type setting struct {
	name     string
	kind     kind
	arg      string // what stands for the value in the help
	fallback []string
	help     string
	// set checks and takes the value: one element, any number for a list. Its
	// error says what is wanted.
	set func(c *config, v []string) error
}

func (s *setting) member() string { return strings.ReplaceAll(s.name, "-", "_") }
func (s *setting) env() string    { return "BUNTING_" + strings.ToUpper(s.member()) }

// settings is the table of all settings of serve.
var settings = slices.Concat([]setting{
	{"listen", text, "HOST:PORT", []string{"127.0.0.1:8000"}, "address to listen on; port 0 takes a free one, an empty host every address of the machine",
		func(c *config, v []string) error {
			c.listen = v[0]
			if _, port, err := net.SplitHostPort(v[0]); err != nil || port == "" {
				return fmt.Errorf("want HOST:PORT such as 127.0.0.1:8000 or :8000, not %q", v[0])
			}
			return nil
		}},
	{"definitions", list, "FILE", nil, "file with projects and flags, watched for changes; may be repeated",
		func(c *config, v []string) error { c.definitions = v; return nil }},
	{"api-key", text, "KEY", []string{""}, "project key of a file that is a bare definitions payload, as PostHog serves it",
		func(c *config, v []string) error { c.apiKey = v[0]; return nil }},
	{"data", text, "DIR", []string{"bunting-data"}, "folder of everything that is stored, made when it is missing; one server uses it at a time",
		func(c *config, v []string) error { c.data = v[0]; return nil }},
	{"database", text, "URL", []string{""}, "where everything is stored instead of in the data folder: postgres://USER@HOST/NAME, or sqlite::memory: to keep nothing",
		func(c *config, v []string) error { c.database = v[0]; return nil }},
	{"owner-email", text, "ADDRESS", []string{"owner@localhost"}, "who owns what the first start makes, or finds in --definitions",
		func(c *config, v []string) error { c.ownerEmail = v[0]; return nil }},
	{"owner-key-file", text, "FILE", []string{""}, "where the first start finds the owner's personal key, or writes it (mode 0600) where there is no such file, instead of printing it",
		func(c *config, v []string) error { c.ownerKeyFile = v[0]; return nil }},
	{"retain-events", number, "DAYS", []string{"0"}, "delete events after so many days; 0 keeps them",
		func(c *config, v []string) (err error) {
			if c.retainEvents, err = strconv.Atoi(v[0]); err != nil || c.retainEvents < 0 {
				return fmt.Errorf("want a number of days, 0 or more, not %q", v[0])
			}
			return nil
		}},
	{"posthog-js", text, "DIR", []string{""}, "copy of npm's posthog-js/dist that the HTML snippet and posthog-js load scripts from (npm pack posthog-js, tar xzf posthog-js-*.tgz: package/dist)",
		func(c *config, v []string) error { c.posthogJS = v[0]; return nil }},
	{"geoip", text, "FILE", []string{""}, "City or Country database (.mmdb) that locates addresses, watched for changes",
		func(c *config, v []string) error { c.geoIP = v[0]; return nil }},
	{"geoip-strict", boolean, "", []string{"false"}, "locate only addresses that a trusted proxy vouches for, not those that any caller names",
		func(c *config, v []string) (err error) { c.geoIPStrict, err = strconv.ParseBool(v[0]); return err }},
	{"trusted-proxies", list, "CIDRS", defaultProxies(), "networks whose proxies are believed about a client's address in rate limits",
		func(c *config, v []string) error {
			c.trustedProxies = []netip.Prefix{} // not nil: an empty list trusts nobody
			for _, text := range v {
				network, err := parseNetwork(text)
				if err != nil {
					return err
				}
				c.trustedProxies = append(c.trustedProxies, network)
			}
			return nil
		}},
	{"export-networks", list, "CIDRS", nil, "networks beside public addresses that batch exports may go to, such as 10.0.0.0/8",
		func(c *config, v []string) error {
			for _, text := range v {
				network, err := parseNetwork(text)
				if err != nil {
					return err
				}
				c.exportNetworks = append(c.exportNetworks, network)
			}
			return nil
		}},
	{"max-body", number, "BYTES", []string{strconv.Itoa(httpapi.DefaultMaxBody)}, "largest request body, as sent and unpacked",
		func(c *config, v []string) (err error) {
			if c.maxBody, err = strconv.ParseInt(v[0], 10, 64); err != nil || c.maxBody <= 0 {
				return fmt.Errorf("want a number of bytes above 0, not %q", v[0])
			}
			return nil
		}},
	{"rate-limit", text, "off|api|log|on", []string{"api"}, "rate limits: off, of the management API only, of flags too (on), or log what flags would refuse",
		func(c *config, v []string) error {
			limits, ok := rateLimits[v[0]]
			if !ok {
				return fmt.Errorf("want off, api, log or on, not %q", v[0])
			}
			c.rateLimits, c.managementLimits = limits(), httpapi.ManagementLimits{}
			if v[0] != "off" {
				c.managementLimits = httpapi.DefaultManagementLimits()
			}
			return nil
		}},
	{"rate-limit-keys", list, "KEY=RATE", nil, "limits of single project keys, such as phc_abc=1200/minute, at most 100; may be repeated",
		func(c *config, v []string) error {
			c.tokenRates = map[string]httpapi.Rate{}
			for _, text := range v {
				key, rate, _ := strings.Cut(text, "=")
				limit, err := httpapi.ParseRate(rate)
				if err != nil || key == "" {
					return fmt.Errorf("want KEY=RATE such as phc_abc=1200/minute, not %q", text)
				}
				c.tokenRates[key] = limit
			}
			if len(c.tokenRates) > httpapi.MaxTokenRates {
				return fmt.Errorf("at most %d keys may have a limit of their own, not %d", httpapi.MaxTokenRates, len(c.tokenRates))
			}
			return nil
		}},
	{"drain", text, "DURATION", []string{"0s"}, "on SIGTERM, how long /_readiness says 503 while requests are still answered, so that a balancer sends no more; at most 10m",
		func(c *config, v []string) (err error) {
			if c.drain, err = time.ParseDuration(v[0]); err != nil || c.drain < 0 || c.drain > 10*time.Minute {
				return fmt.Errorf("want a duration from 0s to 10m such as 5s, not %q", v[0])
			}
			return nil
		}},
	{"log-level", text, "LEVEL", []string{"info"}, "least that is logged: debug, info, warn or error",
		func(c *config, v []string) error {
			level, ok := logLevels[v[0]]
			if !ok {
				return fmt.Errorf("want debug, info, warn or error, not %q", v[0])
			}
			c.logLevel = level
			return nil
		}},
	{"log-requests", text, "off|errors|all", []string{"errors"}, "which requests are logged: none, those answered with 400 or above (10 a second, 100 at once), or all; failed authentication always",
		func(c *config, v []string) error {
			which, ok := requestLogs[v[0]]
			if !ok {
				return fmt.Errorf("want off, errors or all, not %q", v[0])
			}
			c.logRequests = which
			return nil
		}},
	{"log-format", text, "text|json", []string{"text"}, "form of the log, which goes to the standard error",
		func(c *config, v []string) error {
			if c.logFormat = v[0]; v[0] != "text" && v[0] != "json" {
				return fmt.Errorf("want text or json, not %q", v[0])
			}
			return nil
		}},
}, tlsSettings, mailSettings, streamSettings, shadowSettings)

var rateLimits = map[string]func() httpapi.RateLimits{
	"off": func() httpapi.RateLimits { return httpapi.RateLimits{} },
	"api": func() httpapi.RateLimits { return httpapi.RateLimits{} },
	"on":  httpapi.DefaultRateLimits,
	"log": func() httpapi.RateLimits { l := httpapi.DefaultRateLimits(); l.LogOnly = true; return l },
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

func parseNetwork(s string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(s); err == nil { // one machine
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	network, err := netip.ParsePrefix(s)
	if err != nil {
		return network, fmt.Errorf("want networks such as 10.0.0.0/8, not %q", s)
	}
	return network.Masked(), nil
}

// given is the value of a setting and where it came from.
type given struct {
	values []string
	origin origin
}

// origin says where a value came from: for people, and for errors.
type origin struct{ source, place string }

func fromDefault() origin         { return origin{"default", "default"} }
func fromFlag(name string) origin { return origin{"command line", "--" + name} }
func fromEnv(name string) origin  { return origin{"environment " + name, name} }
func fromFile(path string) func(member string) origin {
	return func(member string) origin {
		return origin{"config file " + path, fmt.Sprintf("%s: %q", path, member)}
	}
}

// flagValue takes a setting from the command line. The first use replaces what
// stands anywhere else; a list grows with each further one.
type flagValue struct {
	kind   kind
	used   bool // an empty list is a value too
	values []string
}

func (f *flagValue) String() string   { return strings.Join(f.values, ",") }
func (f *flagValue) IsBoolFlag() bool { return f.kind == boolean }
func (f *flagValue) Set(s string) error {
	f.used = true
	if f.kind == list {
		f.values = append(f.values, splitList(s)...)
		return nil
	}
	f.values = []string{s}
	return nil
}

func splitList(s string) []string {
	out := []string{}
	for _, part := range strings.Split(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// resolved is every setting with its value, and what else serve was told.
type resolved struct {
	config      config
	values      []given // in the order of settings
	file        given   // the config file itself
	printConfig bool
}

// resolve finds the value of each setting: command line, else environment, else
// config file, else default.
func (p *program) resolve(args []string) (*resolved, error) { return p.resolveAs("serve", args, nil) }

// resolveAs is resolve for another command, which may have more options.
func (p *program) resolveAs(command string, args []string, more func(*flag.FlagSet)) (*resolved, error) {
	fs := newFlags(command)
	if more != nil {
		more(fs)
	}
	fromArgs := make([]flagValue, len(settings))
	for i := range settings {
		fromArgs[i].kind = settings[i].kind
		fs.Var(&fromArgs[i], settings[i].name, "")
	}
	path := fs.String("config", "", "")
	r := &resolved{values: make([]given, len(settings))}
	fs.BoolVar(&r.printConfig, "print-config", false, "")
	if err := noArgs(fs, args); err != nil {
		return nil, err
	}
	r.file = given{[]string{*path}, fromFlag("config")}
	if *path == "" {
		r.file = given{[]string{p.env["BUNTING_CONFIG"]}, fromEnv("BUNTING_CONFIG")}
	}
	members := map[string][]string{}
	if path := r.file.values[0]; path == "" {
		r.file.origin = fromDefault()
	} else {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.file.origin.place, err)
		}
		if members, err = parseConfigFile(path, data); err != nil {
			return nil, err
		}
	}
	ofFile := fromFile(r.file.values[0])
	for i := range settings {
		s := &settings[i]
		v := given{s.fallback, fromDefault()}
		if values, ok := members[s.member()]; ok {
			v = given{values, ofFile(s.member())}
		}
		if value := p.env[s.env()]; value != "" {
			v = given{[]string{value}, fromEnv(s.env())}
			if s.kind == list {
				v.values = splitList(value)
			}
		}
		if fromArgs[i].used {
			v = given{fromArgs[i].values, fromFlag(s.name)}
		}
		if s.kind == boolean {
			if _, err := strconv.ParseBool(v.values[0]); err != nil {
				return nil, &usageError{fmt.Sprintf("%s: want true or false, not %q", v.origin.place, v.values[0]), "see bunting help serve"}
			}
		}
		if err := s.set(&r.config, v.values); err != nil {
			return nil, &usageError{v.origin.place + ": " + err.Error(), "see bunting help serve"}
		}
		r.values[i] = v
	}
	return r, nil
}

// print writes the effective configuration as JSON, with where each value came
// from.
func (r *resolved) print() (string, error) {
	var b strings.Builder
	b.WriteString("{\n")
	row := func(name string, v any, o origin, end string) error {
		value, err := json.Marshal(v)
		source, err2 := json.Marshal(o.source)
		if err != nil || err2 != nil {
			return fmt.Errorf("%s cannot be printed", name)
		}
		fmt.Fprintf(&b, "  %q: {\"value\": %s, \"source\": %s}%s\n", name, value, source, end)
		return nil
	}
	for i := range settings {
		if err := row(settings[i].member(), settings[i].shown(r.values[i].values), r.values[i].origin, ","); err != nil {
			return "", err
		}
	}
	if err := row("config", r.file.values[0], r.file.origin, ""); err != nil {
		return "", err
	}
	b.WriteString("}\n")
	return b.String(), nil
}

// shown is a value as the config file would have it.
func (s *setting) shown(v []string) any {
	switch s.kind {
	case list:
		return append([]string{}, v...) // not null
	case boolean:
		on, _ := strconv.ParseBool(v[0])
		return on
	case number:
		n, _ := strconv.ParseInt(v[0], 10, 64)
		return n
	}
	return withoutPassword(v[0])
}

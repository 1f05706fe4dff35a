package settings

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
)

// The values that each setting accepts and refuses, at its bounds and one beyond. An error names the
// place of the value and a correct one.
func TestSettings_Bounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ good, bad, want string }{ // separated by blanks; _ is an empty value
		"listen":              {":0 :8000 127.0.0.1:http [::1]:1", "8000 127.0.0.1 _ ::1:1 host:", "must be HOST:PORT such as 127.0.0.1:8000 or :8000, not %q"},
		"owner-email":         {"a@b o+x@example.com", "_ a a@ Owner<a@b.c> a@b,c@d", "must be an address such as owner@example.com, not %q"},
		"memory":              {"256MB 257MB 1GB 4096MB 4294967295GB", "255MB 0GB 0 _ 1 268435456 1gb 1TB 1.5GB -1GB +1GB GB 4294967296MB", "must be a size of 256MB or more such as 1GB, not %q"},
		"retain-events":       {"0 1 9223372036854775807", "-1 1.5 _ 9223372036854775808 7d", "must be a number of days, 0 or more, not %q"},
		"max-body":            {"1 9223372036854775807", "0 -1 _ 1k 9223372036854775808", "must be a number of bytes above 0, not %q"},
		"rate-limit":          {"off api on log", "_ yes ON", "must be off, api, log or on, not %q"},
		"drain":               {"0s 1ms 10m 0", "-1s 10m1ns 11m _ 5 forever", "must be a duration from 0s to 10m such as 5s, not %q"},
		"log-level":           {"debug info warn error", "_ warning INFO", "must be debug, info, warn or error, not %q"},
		"log-requests":        {"off errors all", "_ none", "must be off, errors or all, not %q"},
		"log-format":          {"text json", "_ JSON", "must be text or json, not %q"},
		"geoip-strict":        {"true false 1 0 T", "_ yes on", "must be true or false, not %q"},
		"rollout-interval":    {"10s 1m 1h", "9999ms 1h1ns _ 60 -1m", "must be a duration from 10s to 1h such as 1m, not %q"},
		"query-timeout":       {"1ms 30s 1h", "0 999us 1h1ms _ 30", "must be a duration from 1ms to 1h such as 30s, not %q"},
		"query-timeout-async": {"1ms 1h", "0s 61m", "must be a duration from 1ms to 1h such as 30s, not %q"},
		"query-memory":        {"0 1048576 9223372036854775807", "1048575 1 -1 1M", "must be 0, or 1048576 bytes or more, not %q"},
		"query-memory-total":  {"0 1048576", "1048575", "must be 0, or 1048576 bytes or more, not %q"},
		"query-workers":       {"0 1 1024", "-1 1025 _ two", "must be a number from 0 to 1024, not %q"},
		"console":             {"on off read-only", "_ readonly", "must be on, read-only or off, not %q"},
		"console-idle":        {"1m 12h", "59s 0 _ 12", "must be a duration of 1m or more such as 12h, not %q"},
		"console-life":        {"1m 720h", "59999ms -1h", "must be a duration of 1m or more such as 12h, not %q"},
		"stream-replicas":     {"0 1 3 5", "-1 2 4 6 3.0 _ many", "must be 1, 3 or 5, or 0 for the replicas of the existing stream, not %q"},
		"stream-bytes":        {"0 1048576 9223372036854775807", "1 1048575 -1 _ 8GiB", "must be 0, or 1048576 bytes or more, not %q"},
		"shadow-sample":       {"1 0.5 1e-9", "0 -0.5 1.1 NaN Inf _ all", "must be a share above 0 and up to 1, not %q"},
		"shadow-answer":       {"self upstream", "_ both", "must be self or upstream, not %q"},
		"upstream":            {"_ https://us.i.posthog.com http://127.0.0.1:1", "us.i.posthog.com /path https:// %zz", "must be a URL such as https://us.i.posthog.com, not %q"},
		"site-url":            {"_ https://flags.example.com http://h:1/prefix/", "flags.example.com ftp://h https:// https://h?a=1 https://h#x", "must be a URL such as https://flags.example.com"},
		"stream":              {"_ nats://h:4222 tls://h nats://a:1,tls://b:2 nats://a,tls://b", "h:4222 http://h nats:// nats://a, nats://a,http://b", "must be nats://HOST:PORT or tls://HOST:PORT, several separated by commas"},
		"export-networks":     {"10.0.0.0/8 192.0.2.1 2001:db8::/32,::1 _", "10.0.0.0/33 10.0.0 localhost 10.0.0.0/8/8", "must be networks such as 10.0.0.0/8, not %q"},
		"trusted-proxies":     {"10.0.0.0/8 _", "10.0.0.0/-1 *", "must be networks such as 10.0.0.0/8, not %q"},
		"acme":                {"a.example a.example,b.example _", "https://a.example localhost a.example:443", "%q is no domain: use a name in lower case such as flags.example.com, without https:// and without a port, and with other letters than a to z in their form of DNS (xn--…)"},
		"acme-http":           {"_ :80 0.0.0.0:8080", "80 localhost: a.example", "must be HOST:PORT such as :80, not %q"},
		"acme-email":          {"_ ops@example.com", "ops mailto:ops@example.com", "must be an address such as ops@example.com, not %q"},
		"acme-directory":      {"_ https://127.0.0.1:14000/dir", "http://127.0.0.1/dir acme.example.com", "must be the address of an ACME directory such as https://acme-v02.api.letsencrypt.org/directory, not %q"},
		"rate-limit-keys":     {"phc_a=1200/minute phc_a=1/second,phc_b=5/hour _", "phc_a =1/minute phc_a= phc_a=0/minute phc_a=many", "must be KEY=RATE such as phc_abc=1200/minute, not %q"},
	} {
		for _, value := range strings.Fields(c.good) {
			if value == "_" {
				value = ""
			}
			if _, err := Resolve(&cli.Program{}, []string{"--" + name + "=" + value}); err != nil {
				t.Errorf("--%s=%s: %v", name, value, err)
			}
		}
		for _, value := range strings.Fields(c.bad) {
			if value == "_" {
				value = ""
			}
			want := c.want
			if strings.Contains(want, "%q") {
				want = fmt.Sprintf(want, value)
			}
			_, err := Resolve(&cli.Program{}, []string{"--" + name + "=" + value})
			var usage *cli.UsageError
			if !errors.As(err, &usage) || usage.Problem != "--"+name+": "+want || usage.Hint != "see bunting help serve" {
				t.Errorf("--%s=%s: %v, want %s", name, value, err, want)
			}
		}
	}
}

// At most 100 keys have a rate of their own; a key that is listed twice counts as one.
func TestSettings_RateKeys(t *testing.T) {
	t.Parallel()
	keys := make([]string, 101)
	for i := range keys {
		keys[i] = fmt.Sprintf("phc_%d=1/second", i)
	}
	resolve := func(keys ...string) error {
		_, err := Resolve(&cli.Program{}, []string{"--rate-limit-keys", strings.Join(keys, ",")})
		return err
	}
	if err := resolve(keys[:100]...); err != nil {
		t.Error(err)
	}
	if err := resolve(append(keys[:100:100], keys[0])...); err != nil {
		t.Error(err)
	}
	if err := resolve(keys...); err == nil || !strings.Contains(err.Error(), "at most 100 keys may have their own limit, not 101") {
		t.Error(err)
	}
}

// Errors of the config file have the file, and the line and column of the value or the name.
func TestConfigFile_Errors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                                "f.json: the document is empty",
		"[]":                              "f.json: line 1 column 1: must be an object with settings as members",
		`"x"`:                             "f.json: line 1 column 1: must be an object with settings as members",
		"{\n  \"listen\": 5\n}":           `f.json: line 2 column 13: "listen" must be text`,
		`{"listen": null}`:                `f.json: line 1 column 12: "listen" must be text`,
		`{"listen": ["a"]}`:               `f.json: line 1 column 12: "listen" must be text`,
		`{"max_body": "1"}`:               `f.json: line 1 column 14: "max_body" must be a whole number`,
		`{"geoip_strict": "true"}`:        `f.json: line 1 column 18: "geoip_strict" must be true or false`,
		`{"definitions": "a.json"}`:       `f.json: line 1 column 17: "definitions" must be an array of texts`,
		`{"definitions": ["a", 1]}`:       `f.json: line 1 column 17: "definitions" must be an array of texts`,
		`{"listen": ":1", "listen":":2"}`: `f.json: line 1 column 18: "listen" is given twice`,
		`{"listen": ":1"} {}`:             "f.json: line 1 column 18: text after the end of the JSON document",
		`{"listen": x}`:                   "f.json: line 1 column 12: invalid character 'x' looking for beginning of value",
		`{"listen": ":1"`:                 "f.json: line 1 column 16: the document ends in the middle",
	} {
		members, err := parseConfigFile("f.json", []byte(text))
		if members != nil || err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	_, err := parseConfigFile("f.json", []byte("{\n\"lisen\": \":1\"}"))
	if err == nil || !strings.HasPrefix(err.Error(), `f.json: line 2 column 1: unknown setting "lisen"; the settings are listen, definitions, `) || !strings.HasSuffix(err.Error(), "; did you mean listen?") {
		t.Error(err)
	}
}

// An error names the source of the value, which is the last one that counts.
func TestSettings_PlaceOfErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  []string
		args []string
		want string
	}{
		"the command line": {[]string{"BUNTING_DRAIN=1s"}, []string{"--drain", "x"}, "--drain: must be a duration"},
		"the environment":  {[]string{"BUNTING_DRAIN=x"}, nil, "BUNTING_DRAIN: must be a duration"},
		"a missing file":   {[]string{"BUNTING_CONFIG=/none/f.json"}, nil, "BUNTING_CONFIG: open /none/f.json"},
		"the named file":   {[]string{"BUNTING_CONFIG=/none/f.json"}, []string{"--config", "/none/g.json"}, "--config: open /none/g.json"},
	} {
		_, err := Resolve(&cli.Program{Env: cli.Environment(c.env)}, c.args)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Resolve(&cli.Program{}, []string{"file"}); err == nil || !strings.Contains(err.Error(), `serve: unexpected argument "file"`) {
		t.Error(err)
	}
}

// The table of settings: each has one name and a default that it accepts itself.
func TestSettings_Table(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for i := range All {
		s := &All[i]
		if names[s.Name] || s.Help == "" || s.Kind != list && len(s.Fallback) != 1 || (s.Arg == "") != (s.Kind == Boolean) {
			t.Errorf("%s: %+v", s.Name, s.Fallback)
		}
		names[s.Name] = true
		if findMember(s.member()) != s || s.Env() != "BUNTING_"+strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_")) {
			t.Errorf("%s: the member %s, the variable %s", s.Name, s.member(), s.Env())
		}
	}
	if _, err := Resolve(&cli.Program{}, nil); err != nil {
		t.Error(err)
	}
}

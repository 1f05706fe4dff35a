package settings

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bunting-flags/bunting/adapters/command/internal/cli"
	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/geoip"
)

func resolveIn(t *testing.T, env []string, args ...string) *Resolved {
	t.Helper()
	r, err := Resolve(&cli.Program{Env: cli.Environment(env)}, args)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Command line, else environment, else config file, else default: each row adds one source to the
// previous row.
func TestConfig_Precedence(t *testing.T) {
	file := clitest.TempFile(t, "bunting.json", `{"listen": ":1", "definitions": ["file1.json", "file,2.json"], "geoip_strict": true, "max_body": 1, "api_key": "phc_file"}`)
	type values struct {
		Listen, APIKey, ListenSource string
		Definitions                  []string
		Strict                       bool
		MaxBody                      int64
	}
	tests := []struct {
		name string
		env  []string
		args []string
		want values
	}{
		{"default", nil, nil, values{"127.0.0.1:8000", "", "default", nil, false, httpapi.DefaultMaxBody}},
		{"config file", nil, []string{"--config", file}, values{":1", "phc_file", "config file " + file, []string{"file1.json", "file,2.json"}, true, 1}},
		{"config file named by the environment", []string{"BUNTING_CONFIG=" + file}, nil,
			values{":1", "phc_file", "config file " + file, []string{"file1.json", "file,2.json"}, true, 1}},
		{"environment over config file",
			[]string{"BUNTING_CONFIG=" + file, "BUNTING_LISTEN=:2", "BUNTING_DEFINITIONS=env1.json, env2.json", "BUNTING_GEOIP_STRICT=false", "BUNTING_MAX_BODY=2"}, nil,
			values{":2", "phc_file", "environment BUNTING_LISTEN", []string{"env1.json", "env2.json"}, false, 2}},
		{"an empty variable is none", []string{"BUNTING_CONFIG=" + file, "BUNTING_LISTEN=", "BUNTING_GEOIP_STRICT="}, nil,
			values{":1", "phc_file", "config file " + file, []string{"file1.json", "file,2.json"}, true, 1}},
		{"command line over environment",
			[]string{"BUNTING_CONFIG=" + file, "BUNTING_LISTEN=:2", "BUNTING_DEFINITIONS=env1.json", "BUNTING_GEOIP_STRICT=false", "BUNTING_MAX_BODY=2"},
			[]string{"--listen", ":3", "--definitions", "a.json,b.json", "--definitions=c.json", "--geoip-strict", "--max-body", "3", "--api-key", ""},
			values{":3", "", "command line", []string{"a.json", "b.json", "c.json"}, true, 3}},
		{"a boolean switched off", []string{"BUNTING_GEOIP_STRICT=true"}, []string{"--geoip-strict=false"},
			values{"127.0.0.1:8000", "", "default", nil, false, httpapi.DefaultMaxBody}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := resolveIn(t, tt.env, tt.args...)
			c := &r.Config
			got := values{c.Listen, c.APIKey, r.values[0].origin.source, c.Definitions, c.StrictGeoIP, c.MaxBody}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestConfig_Values(t *testing.T) {
	r := resolveIn(t, nil, "--trusted-proxies", "10.1.2.3/8, 192.0.2.1,2001:db8::/32", "--rate-limit", "log", "--log-level", "warn", "--log-format", "json")
	want := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::/32")}
	if diff := cmp.Diff(want, r.Config.TrustedProxies, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Errorf("trusted proxies (-want +got):\n%s", diff)
	}
	limits := httpapi.DefaultRateLimits()
	limits.LogOnly = true
	if r.Config.RateLimits != limits {
		t.Errorf("rate limits %+v", r.Config.RateLimits)
	}
	if resolveIn(t, nil, "--rate-limit", "on").Config.RateLimits != httpapi.DefaultRateLimits() {
		t.Error("--rate-limit on is not the default limits")
	}
	if resolveIn(t, nil).Config.RateLimits != (httpapi.RateLimits{}) {
		t.Error("rate limits are not off by default")
	}
	if got := resolveIn(t, nil).Config.TrustedProxies; len(got) != len(geoip.DefaultTrusted()) {
		t.Errorf("default proxies %v", got)
	}
	// No proxies are trusted, which is not the default.
	if got := resolveIn(t, nil, "--trusted-proxies", "").Config.TrustedProxies; got == nil || len(got) != 0 {
		t.Errorf("no proxies: %#v, want an empty list", got)
	}
}

func FuzzParseConfigFile(f *testing.F) {
	for _, seed := range []string{`{}`, `{"listen": ":1", "definitions": ["a"], "max_body": 1}`, `{"listen"`, `{"x": 1}`, "", `[`, `{"listen": ":1"} x`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		members, err := parseConfigFile("f.json", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.json: ") {
				t.Errorf("error %q does not name the file", err)
			}
			return
		}
		for name, values := range members {
			if s := findMember(name); s == nil || s.Kind != list && len(values) != 1 {
				t.Errorf("member %q: %q", name, values)
			}
		}
	})
}

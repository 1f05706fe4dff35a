package command

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

func TestConfig_Errors(t *testing.T) {
	tests := map[string]struct {
		file, env string
		args      []string
		want      string
	}{
		"listen":             {args: []string{"--listen", "8000"}, want: `--listen: must be HOST:PORT such as 127.0.0.1:8000 or :8000, not "8000"`},
		"from environment":   {env: "BUNTING_MAX_BODY=lots", want: `BUNTING_MAX_BODY: must be a number of bytes above 0, not "lots"`},
		"zero":               {args: []string{"--max-body", "0"}, want: "must be a number of bytes above 0"},
		"boolean":            {args: []string{"--geoip-strict=maybe"}, want: `--geoip-strict: must be true or false, not "maybe"`},
		"boolean variable":   {env: "BUNTING_GEOIP_STRICT=maybe", want: `BUNTING_GEOIP_STRICT: must be true or false, not "maybe"`},
		"proxies":            {args: []string{"--trusted-proxies", "10.0.0.0/8,home"}, want: `--trusted-proxies: must be networks such as 10.0.0.0/8, not "home"`},
		"rate of a key":      {args: []string{"--rate-limit-keys", "phc_a=12/moment"}, want: `--rate-limit-keys: must be KEY=RATE such as phc_abc=1200/minute, not "phc_a=12/moment"`},
		"rate limit":         {args: []string{"--rate-limit", "yes"}, want: `--rate-limit: must be off, api, log or on, not "yes"`},
		"log level":          {args: []string{"--log-level", "loud"}, want: `must be debug, info, warn or error, not "loud"`},
		"log format":         {args: []string{"--log-format", "xml"}, want: `must be text or json, not "xml"`},
		"file: value":        {file: `{"log_format": "xml"}`, want: `bunting.json: "log_format": must be text or json, not "xml"`},
		"file: unknown":      {file: "{\n  \"listen\": \":1\",\n  \"lisen\": \":2\"\n}", want: `bunting.json: line 3 column 3: unknown setting "lisen"; the settings are listen, definitions,`},
		"file: hyphen":       {file: `{"max-body": 1}`, want: `line 1 column 2: unknown setting "max-body"; the settings are`},
		"file: twice":        {file: `{"listen": ":1", "listen": ":2"}`, want: `line 1 column 18: "listen" is given twice`},
		"file: wrong type":   {file: "{\"listen\":\n 8000}", want: `line 2 column 2: "listen" must be text`},
		"file: wrong number": {file: `{"max_body": "1"}`, want: `"max_body" must be a whole number`},
		"file: fraction":     {file: `{"max_body": 1.5}`, want: `"max_body": must be a number of bytes above 0, not "1.5"`},
		"file: list":         {file: `{"definitions": "a.json"}`, want: `"definitions" must be an array of texts`},
		"file: list of 1":    {file: `{"definitions": [1]}`, want: `"definitions" must be an array of texts`},
		"file: null":         {file: `{"geoip_strict": null}`, want: `"geoip_strict" must be true or false`},
		"file: no object":    {file: `[]`, want: `line 1 column 1: must be an object`},
		"file: empty":        {file: ` `, want: `the document is empty`},
		"file: half":         {file: `{"listen": ":1"`, want: `line 1 column 16: the document ends in the middle`},
		"file: no JSON":      {file: "{\n listen: 1}", want: `line 2 column 2:`},
		"file: more":         {file: `{} {}`, want: `line 1 column 4: text after the end`},
		"file: not there":    {args: []string{"--config", "none.json"}, want: "--config: open none.json:"},
		"variable: no file":  {env: "BUNTING_CONFIG=none.json", want: "BUNTING_CONFIG: open none.json:"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"serve", "--print-config"}, tt.args...)
			if tt.file != "" {
				args = append(args, "--config", clitest.TempFile(t, "bunting.json", tt.file))
			}
			r := call(t, "", []string{tt.env}, args...)
			if r.Code == 0 || !strings.Contains(r.Stderr, tt.want) {
				t.Errorf("exit code %d, stderr %q, want %q in it", r.Code, r.Stderr, tt.want)
			}
			for line := range strings.Lines(r.Stderr) {
				if !strings.HasPrefix(line, "bunting: ") {
					t.Errorf("line %q does not say whose it is", line)
				}
			}
		})
	}
}

// The golden text is written by hand from the arguments and the table of settings.
func TestConfig_PrintConfigGolden(t *testing.T) {
	file := clitest.TempFile(t, "bunting.json", `{"log_format": "json", "definitions": ["a.json"]}`)
	want := strings.ReplaceAll(`{
  "listen": {"value": ":9000", "source": "command line"},
  "definitions": {"value": ["a.json"], "source": "config file FILE"},
  "api_key": {"value": "", "source": "default"},
  "data": {"value": "bunting-data", "source": "default"},
  "database": {"value": "", "source": "default"},
  "segments": {"value": "", "source": "default"},
  "segments_after": {"value": "24h", "source": "default"},
  "fixtures": {"value": "", "source": "default"},
  "owner_email": {"value": "owner@localhost", "source": "default"},
  "owner_key_file": {"value": "", "source": "default"},
  "memory": {"value": "256MB", "source": "default"},
  "retain_events": {"value": 0, "source": "default"},
  "posthog_js": {"value": "", "source": "default"},
  "geoip": {"value": "city.mmdb", "source": "environment BUNTING_GEOIP"},
  "geoip_strict": {"value": true, "source": "command line"},
  "trusted_proxies": {"value": ["127.0.0.0/8","::1/128","10.0.0.0/8","172.16.0.0/12","192.168.0.0/16","fc00::/7"], "source": "default"},
  "export_networks": {"value": [], "source": "default"},
  "max_body": {"value": 5000, "source": "environment BUNTING_MAX_BODY"},
  "rate_limit": {"value": "api", "source": "default"},
  "rate_limit_keys": {"value": [], "source": "default"},
  "drain": {"value": "0s", "source": "default"},
  "log_level": {"value": "info", "source": "default"},
  "log_requests": {"value": "errors", "source": "default"},
  "log_format": {"value": "json", "source": "config file FILE"},
  "console": {"value": "on", "source": "default"},
  "console_idle": {"value": "12h", "source": "default"},
  "console_life": {"value": "720h", "source": "default"},
  "oidc_issuer": {"value": "", "source": "default"},
  "oidc_client_id": {"value": "", "source": "default"},
  "oidc_client_secret_file": {"value": "", "source": "default"},
  "oidc_name": {"value": "", "source": "default"},
  "sign_in_link": {"value": false, "source": "default"},
  "docs": {"value": true, "source": "default"},
  "rollout_interval": {"value": "1m", "source": "default"},
  "query_timeout": {"value": "30s", "source": "default"},
  "query_timeout_async": {"value": "5m", "source": "default"},
  "query_memory": {"value": 0, "source": "default"},
  "query_memory_total": {"value": 0, "source": "default"},
  "query_workers": {"value": 0, "source": "default"},
  "tls_cert": {"value": "", "source": "default"},
  "tls_key": {"value": "", "source": "default"},
  "acme": {"value": [], "source": "default"},
  "acme_http": {"value": "", "source": "default"},
  "acme_email": {"value": "", "source": "default"},
  "acme_directory": {"value": "", "source": "default"},
  "site_url": {"value": "", "source": "default"},
  "smtp_url": {"value": "", "source": "default"},
  "smtp_password_file": {"value": "", "source": "default"},
  "mail_from": {"value": "", "source": "default"},
  "dns_resolver": {"value": "", "source": "default"},
  "domain_challenge_host": {"value": "_posthog-challenge", "source": "default"},
  "stream": {"value": "", "source": "default"},
  "stream_creds": {"value": "", "source": "default"},
  "stream_replicas": {"value": 0, "source": "default"},
  "stream_bytes": {"value": 0, "source": "default"},
  "backup": {"value": "", "source": "default"},
  "backup_interval": {"value": "1h", "source": "default"},
  "backup_keep": {"value": "7d", "source": "default"},
  "backup_key": {"value": "", "source": "default"},
  "upstream": {"value": "", "source": "default"},
  "shadow_answer": {"value": "self", "source": "default"},
  "shadow_sample": {"value": "1", "source": "default"},
  "shadow_report": {"value": "", "source": "default"},
  "config": {"value": "FILE", "source": "command line"}
}
`, "FILE", file)
	r := call(t, "", []string{"BUNTING_GEOIP=city.mmdb", "BUNTING_MAX_BODY=5000", "PATH=/bin"},
		"serve", "--print-config", "--config", file, "--listen=:9000", "--geoip-strict")
	if diff := cmp.Diff(want, r.Stdout); diff != "" || r.Code != 0 {
		t.Errorf("exit code %d (-want +got):\n%s", r.Code, diff)
	}
}

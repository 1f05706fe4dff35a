package settings

import (
	"fmt"
	"net/url"
	"strconv"
)

// shadowSettings are the settings of bunting shadow.
var shadowSettings = []setting{
	{"upstream", text, "URL", []string{""}, "service with the same API to compare with: see bunting help shadow",
		func(c *Config, v []string) (err error) {
			if v[0] == "" {
				return nil
			}
			c.Shadow.Upstream, err = url.Parse(v[0])
			if err != nil || c.Shadow.Upstream.Host == "" {
				return fmt.Errorf("must be a URL such as https://us.i.posthog.com, not %q", v[0])
			}
			return nil
		}},
	{"shadow-answer", text, "self|upstream", []string{"self"}, "with --upstream: whose response is sent",
		oneOf(map[string]bool{"self": false, "upstream": true}, "self or upstream", func(c *Config, is bool) { c.Shadow.UpstreamAnswers = is })},
	{"shadow-sample", text, "SHARE", []string{"1"}, "with --upstream: share of the flag requests that are compared, above 0 and up to 1",
		func(c *Config, v []string) (err error) {
			if c.Shadow.Sample, err = strconv.ParseFloat(v[0], 64); err != nil || !(c.Shadow.Sample > 0 && c.Shadow.Sample <= 1) {
				return fmt.Errorf("must be a share above 0 and up to 1, not %q", v[0])
			}
			return nil
		}},
	{"shadow-report", text, "FILE", []string{""}, "with --upstream: file of the report; shadow.json in the data folder by default",
		func(c *Config, v []string) error { c.Shadow.Report = v[0]; return nil }},
}

package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// edgeCase is a row of §12.5 that is requested over HTTP, from testdata/edgecases/12_5.json. Rows
// without HTTP steps are tested elsewhere.
type edgeCase struct {
	Row         int             `json:"row"`
	Name        string          `json:"name"`
	Definitions json.RawMessage `json:"definitions"`
	Project     struct {
		FlagLimit    *int64   `json:"flag_limit"`
		QuotaLimited []string `json:"quota_limited"`
	} `json:"project"`
	Persons []struct {
		IDs        []string         `json:"ids"`
		Properties flags.Properties `json:"properties"`
	} `json:"persons"`
	// Locate maps addresses to properties.
	Locate addresses `json:"locate"`
	// HTTP are the steps. "{etag}" in a header is replaced with the last ETag, without quotes.
	HTTP []struct {
		httpRequest
		Want want `json:"want"`
	} `json:"http"`
}

// addresses is a Locator.
type addresses map[netip.Addr]flags.Properties

func (a addresses) Locate(ip netip.Addr) flags.Properties {
	if ip.IsLoopback() { // as geoip.DB does (§8.3)
		return nil
	}
	return a[ip]
}

// handler serves the case's definitions as project phc_test with the key phs_test.
func (c *edgeCase) handler(t *testing.T) http.Handler {
	d, err := flags.ParseDefinitions(c.Definitions)
	if err != nil {
		t.Fatal(err)
	}
	p := flags.Project{ID: 1, APIKey: "phc_test", OrganizationID: "o", FlagLimit: c.Project.FlagLimit, QuotaLimited: c.Project.QuotaLimited}
	w := &world{
		now:      time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC),
		projects: map[string]flags.FileProject{"phc_test": {Project: p, Definitions: d, SecretKeys: []string{"phs_test"}}},
	}
	people := &serving.Memory{}
	for _, person := range c.Persons {
		people.AddPerson(1, w.now, person.Properties, nil, person.IDs...)
	}
	return w.handler(t, func(dc *serving.Config) {
		dc.People, dc.Continuity, dc.Locator = people, people, c.Locate
	}, nil)
}

func TestFlags_12_5_OverHTTP(t *testing.T) {
	data, err := os.ReadFile("../../testdata/edgecases/12_5.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []edgeCase
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	rows := map[int]bool{}
	for _, c := range cases {
		if len(c.HTTP) == 0 {
			continue
		}
		rows[c.Row] = true
		t.Run(fmt.Sprintf("row %d/%s", c.Row, c.Name), func(t *testing.T) {
			h := c.handler(t)
			etag := ""
			for _, step := range c.HTTP {
				r := httptest.NewRequest(step.Method, step.Path, bytes.NewReader(step.body(t)))
				for name, v := range step.Headers {
					r.Header.Set(name, strings.ReplaceAll(v, "{etag}", strings.Trim(etag, `W/"`)))
				}
				got := httptest.NewRecorder()
				h.ServeHTTP(got, r)
				if r.Method == http.MethodHead {
					got.Body.Reset() // the server of net/http sends no body
				}
				step.Want.check(t, got, etag)
				if tag := got.Header().Get("ETag"); tag != "" {
					etag = tag
				}
			}
		})
	}
	for row := 112; row <= 132; row++ {
		if row != 125 && !rows[row] { // 125 is about counting: TestFlags_10_1 of flags, and quota_test.go
			t.Errorf("row %d has no case", row)
		}
	}
}

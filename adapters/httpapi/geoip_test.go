package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/geoip"
)

// Addresses of testdata/geoip/source.json.
const (
	berlin  = "192.0.2.7"
	newYork = "198.51.100.7"
	tokyo   = "203.0.113.7"
	paris   = "2001:db8:1::7"
	nowhere = "203.0.113.200"
)

// countries returns a flag for each country in the tests, which is enabled for requests from there,
// and one that is enabled if the country is unknown.
func countries() string {
	var list []string
	for i, code := range []string{"DE", "US", "JP", "FR"} {
		list = append(list, fmt.Sprintf(`{"id": %d, "key": "%s", "active": true, "filters": {"groups": [{"properties": [
			{"key": "$geoip_country_code", "type": "person", "operator": "exact", "value": "%s"}]}]}}`, i+1, code, code))
	}
	list = append(list, `{"id": 9, "key": "none", "active": true, "filters": {"groups": [{"properties": [
		{"key": "$geoip_country_code", "type": "person", "operator": "is_not_set"}]}]}}`,
		`{"id": 10, "key": "null", "active": true, "filters": {"groups": [{"properties": [
		{"key": "$geoip_country_code", "type": "person", "operator": "exact", "value": "null"}]}]}}`)
	return `{"projects": [{"id": 1, "api_key": "phc_test", "flags": [` + strings.Join(list, ",") + `]}]}`
}

func geoHandler(t *testing.T, stored flags.Properties, config func(*httpapi.Config)) http.Handler {
	t.Helper()
	db, err := geoip.Open("../../testdata/geoip/city.mmdb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := newWorld(t, []byte(countries()))
	people := &serving.Memory{}
	people.AddPerson(1, w.now, stored, nil, "u1")
	return w.handler(t, func(c *serving.Config) { c.Locator, c.People = db, people }, config)
}

// country returns the country from which a request appears to come.
func country(t *testing.T, h http.Handler, peer, members string, headers ...string) string {
	t.Helper()
	r := httptest.NewRequest("POST", "/flags?v=2", strings.NewReader(`{"api_key":"phc_test","distinct_id":"u1"`+members+`}`))
	r.RemoteAddr = peer
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	got := decoded(t, w)
	on := []string{}
	for _, key := range []string{"DE", "US", "JP", "FR", "none", "null"} {
		if got.on(key) {
			on = append(on, key)
		}
	}
	return strings.Join(on, " ")
}

const forwarded, literal = "X-Forwarded-For", "HTTP_X_FORWARDED_FOR"

// The table of decision 7 and §8.3: which address is located, and whether its properties take
// precedence over stored ones (the stored country is Germany, or empty).
func TestFlags_Decision7_LocatedAddress(t *testing.T) {
	stored := flags.Properties{"$geoip_country_code": "DE"}
	for name, c := range map[string]struct {
		peer, members string
		headers       []string
		fresh, kept   string // without a stored country, and with Germany stored
	}{
		"bare connection":                {newYork + ":1", "", nil, "US", "DE"},
		"header":                         {berlin + ":1", "", []string{forwarded, newYork}, "US", "US"},
		"literal header":                 {berlin + ":1", "", []string{literal, newYork}, "US", "US"},
		"both headers":                   {berlin + ":1", "", []string{literal, tokyo, forwarded, newYork}, "US", "US"},
		"a blank header and the literal": {berlin + ":1", "", []string{forwarded, " ", literal, newYork}, "US", "US"},
		"the first of a list":            {berlin + ":1", "", []string{forwarded, newYork + ", " + tokyo}, "US", "US"},
		"the first of two lines":         {berlin + ":1", "", []string{forwarded, newYork, forwarded, tokyo}, "US", "US"},
		"the first that is valid":        {berlin + ":1", "", []string{forwarded, "unknown, , 1.2.3, " + newYork}, "US", "US"},
		"with a port":                    {berlin + ":1", "", []string{forwarded, newYork + ":443"}, "US", "US"},
		"version 6":                      {berlin + ":1", "", []string{forwarded, paris}, "FR", "FR"},
		"version 6 with brackets, port":  {berlin + ":1", "", []string{forwarded, "[" + paris + "]:443"}, "FR", "FR"},
		"version 6 peer":                 {"[" + paris + "]:1", "", nil, "FR", "DE"},
		"version 4 in version 6":         {berlin + ":1", "", []string{forwarded, "::ffff:" + newYork}, "US", "US"},
		"garbage: the connection":        {newYork + ":1", "", []string{forwarded, "\x00\xff<script>"}, "US", "DE"},
		"loopback in the header":         {newYork + ":1", "", []string{forwarded, "127.0.0.1"}, "none", "DE"},
		"loopback peer":                  {"127.0.0.1:1", "", nil, "none", "DE"},
		"an address without a place":     {newYork + ":1", "", []string{forwarded, nowhere}, "none", "DE"},
		"a unix socket":                  {"@", "", nil, "none", "DE"},
		"geoip_disable":                  {berlin + ":1", `,"geoip_disable":true`, []string{forwarded, newYork}, "none", "DE"},
		"geoip_disable, bare":            {newYork + ":1", `,"geoip_disable":true`, nil, "none", "DE"},
		"geoip_disable null":             {berlin + ":1", `,"geoip_disable":null`, []string{forwarded, newYork}, "US", "US"},
		"the request's value wins":       {berlin + ":1", `,"person_properties":{"$geoip_country_code":"JP"}`, []string{forwarded, newYork}, "JP", "JP"},
		"also with geoip_disable":        {berlin + ":1", `,"geoip_disable":true,"person_properties":{"$geoip_country_code":"JP"}`, []string{forwarded, newYork}, "JP", "JP"},
		"null is not supplied":           {berlin + ":1", `,"person_properties":{"$geoip_country_code":null}`, []string{forwarded, newYork}, "US", "US"},
		"null, bare connection":          {newYork + ":1", `,"person_properties":{"$geoip_country_code":null}`, nil, "US", "DE"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := country(t, geoHandler(t, nil, nil), c.peer, c.members, c.headers...); got != c.fresh {
				t.Errorf("nothing stored: %s, want %s", got, c.fresh)
			}
			if got := country(t, geoHandler(t, stored, nil), c.peer, c.members, c.headers...); got != c.kept {
				t.Errorf("Germany stored: %s, want %s", got, c.kept)
			}
		})
	}
}

// The strict rule: only trusted proxies can name their clients, read from the right.
func TestFlags_Decision7_StrictGeoIP(t *testing.T) {
	stored := flags.Properties{"$geoip_country_code": "DE"}
	for name, c := range map[string]struct {
		trusted     []string
		peer        string
		headers     []string
		fresh, kept string
	}{
		"a stranger's header is not read":  {nil, newYork + ":1", []string{forwarded, tokyo}, "US", "DE"},
		"nor the literal one":              {nil, newYork + ":1", []string{literal, tokyo}, "US", "DE"},
		"a private proxy":                  {nil, "10.0.0.1:1", []string{forwarded, tokyo}, "JP", "JP"},
		"read from the right":              {nil, "10.0.0.1:1", []string{forwarded, newYork + ", " + tokyo}, "JP", "JP"},
		"over two proxies":                 {nil, "10.0.0.1:1", []string{forwarded, newYork + ", " + tokyo + ", 10.0.0.2"}, "JP", "JP"},
		"a proxy does not use the literal": {nil, "10.0.0.1:1", []string{literal, tokyo}, "none", "DE"},
		"garbage is nobody":                {nil, "10.0.0.1:1", []string{forwarded, tokyo + ", garbage"}, "none", "DE"},
		"a proxy of ours":                  {[]string{"192.0.2.0/24"}, berlin + ":1", []string{forwarded, tokyo}, "JP", "JP"},
		"then private ones are strangers":  {[]string{"192.0.2.0/24"}, "10.0.0.1:1", []string{forwarded, tokyo}, "none", "DE"},
		"nobody is trusted":                {[]string{}, newYork + ":1", []string{forwarded, tokyo}, "US", "DE"},
	} {
		t.Run(name, func(t *testing.T) {
			strict := func(config *httpapi.Config) {
				config.StrictGeoIP = true
				if c.trusted != nil {
					config.TrustedProxies = []netip.Prefix{}
				}
				for _, network := range c.trusted {
					config.TrustedProxies = append(config.TrustedProxies, netip.MustParsePrefix(network))
				}
			}
			if got := country(t, geoHandler(t, nil, strict), c.peer, "", c.headers...); got != c.fresh {
				t.Errorf("nothing stored: %s, want %s", got, c.fresh)
			}
			if got := country(t, geoHandler(t, stored, strict), c.peer, "", c.headers...); got != c.kept {
				t.Errorf("Germany stored: %s, want %s", got, c.kept)
			}
		})
	}
}

// All seven properties are derived from the address (interface §4.4).
func TestInterface_4_4_SevenProperties(t *testing.T) {
	want := map[string]string{ // the row 192.0.2.0/26 of testdata/geoip/source.json
		"$geoip_city_name": "Berlin", "$geoip_country_name": "Germany", "$geoip_country_code": "DE",
		"$geoip_continent_name": "Europe", "$geoip_continent_code": "EU", "$geoip_postal_code": "10115", "$geoip_time_zone": "Europe/Berlin",
	}
	var list []string
	for key, v := range want {
		list = append(list, fmt.Sprintf(`{"id": %d, "key": "%s", "active": true, "filters": {"groups": [{"properties": [
			{"key": "%s", "type": "person", "operator": "exact", "value": "%s"}]}]}}`, len(list)+1, key, key, v))
	}
	db, err := geoip.Open("../../testdata/geoip/city.mmdb")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	w := newWorld(t, []byte(`{"projects": [{"id": 1, "api_key": "phc_test", "flags": [`+strings.Join(list, ",")+`]}]}`))
	h := w.handler(t, func(c *serving.Config) { c.Locator = db }, nil)
	for _, header := range []string{forwarded, literal} {
		got := decideFlags(t, h, `{"api_key":"phc_test","distinct_id":"u1"}`, header, berlin)
		for key := range want {
			if !got.on(key) {
				t.Errorf("%s by %s", key, header)
			}
		}
	}
}

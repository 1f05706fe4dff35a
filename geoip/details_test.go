package geoip

import (
	"encoding/json"
	"math"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	geoip2 "github.com/oschwald/geoip2-golang/v2"
)

// Every network of source.json, from which the database is generated, is returned with its values.
// The source has no subdivisions and coordinates.
func TestDetails_12_1_Source(t *testing.T) {
	db := open(t, "city.mmdb")
	rows, nothing := readSource(t)
	for _, row := range rows {
		prefix, err := netip.ParsePrefix(row.Network)
		if err != nil {
			t.Fatal(err)
		}
		for _, when := range []string{"cold", "remembered"} {
			var got map[string]any
			for _, d := range db.Details(prefix.Masked().Addr()) {
				var value any
				if err := json.Unmarshal([]byte(d[1]), &value); err != nil {
					t.Fatalf("%s: %s is no JSON: %s", row.Network, d[0], d[1])
				}
				if got == nil {
					got = map[string]any{}
				}
				got[d[0]] = value
			}
			if diff := cmp.Diff(row.want(true), got); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", row.Network, when, diff)
			}
		}
	}
	for _, network := range nothing {
		if got := db.Details(netip.MustParsePrefix(network).Addr()); got != nil {
			t.Errorf("%s: %v", network, got)
		}
	}
}

// A complete record returns all names of §12.1 in their order, except the city's confidence.
func TestDetails_12_1_All(t *testing.T) {
	latitude, longitude := 41.5, -81.6938
	r := &geoip2.City{}
	r.City.Names.English, r.Postal.Code = `Cleve"land`, "44192"
	r.Country.Names.English, r.Country.ISOCode = "United States", "US"
	r.Continent.Names.English, r.Continent.Code = "North America", "NA"
	r.Subdivisions = []geoip2.CitySubdivision{
		{ISOCode: "OH", Names: geoip2.Names{English: "Ohio"}},
		{ISOCode: "CU", Names: geoip2.Names{English: "Cuyahoga"}},
		{ISOCode: "XX", Names: geoip2.Names{English: "a third one"}},
	}
	r.Location = geoip2.Location{Latitude: &latitude, Longitude: &longitude, AccuracyRadius: 20, TimeZone: "America/New_York"}
	want := [][2]string{
		{"$geoip_city_name", `"Cleve\"land"`},
		{"$geoip_subdivision_1_code", `"OH"`}, {"$geoip_subdivision_1_name", `"Ohio"`},
		{"$geoip_subdivision_2_code", `"CU"`}, {"$geoip_subdivision_2_name", `"Cuyahoga"`},
		{"$geoip_country_name", `"United States"`}, {"$geoip_country_code", `"US"`},
		{"$geoip_continent_name", `"North America"`}, {"$geoip_continent_code", `"NA"`},
		{"$geoip_postal_code", `"44192"`}, {"$geoip_latitude", "41.5"}, {"$geoip_longitude", "-81.6938"},
		{"$geoip_accuracy_radius", "20"}, {"$geoip_time_zone", `"America/New_York"`},
	}
	if diff := cmp.Diff(want, details(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	zero, nan := 0.0, math.NaN()
	r = &geoip2.City{Location: geoip2.Location{Latitude: &zero, Longitude: &nan}}
	if diff := cmp.Diff([][2]string{{"$geoip_latitude", "0"}}, details(r)); diff != "" {
		t.Errorf("the equator (-want +got):\n%s", diff)
	}
	if got := details(&geoip2.City{}); got != nil {
		t.Errorf("an empty record: %v", got)
	}
}

// Locate and Details do not evict each other's cached results.
func TestDetails_WithLocate(t *testing.T) {
	db := open(t, "city.mmdb")
	a := ip("192.0.2.1")
	for range 2 {
		if db.Locate(a)["$geoip_city_name"] != "Berlin" {
			t.Error("Locate")
		}
		if d := db.Details(a); len(d) == 0 || d[0] != [2]string{"$geoip_city_name", `"Berlin"`} {
			t.Errorf("Details: %v", d)
		}
	}
	if s := db.Stats(); s.Lookups != 4 || s.Hits != 2 || s.Remembered != 1 {
		t.Errorf("%+v", s)
	}
}

func TestDetails_NoPlace(t *testing.T) {
	db := open(t, "ipv4.mmdb")
	for _, s := range []string{"127.0.0.1", "10.1.2.3", "::1", "fe80::1", "2001:db8:1::1"} {
		if got := db.Details(ip(s)); got != nil {
			t.Errorf("%s: %v", s, got)
		}
	}
	if got := db.Details(netip.Addr{}); got != nil {
		t.Errorf("no address: %v", got)
	}
	_ = db.Close()
	if got := db.Details(ip("192.0.2.1")); got != nil {
		t.Errorf("after Close: %v", got)
	}
}

func TestDetails_RememberedAllocatesNothing(t *testing.T) {
	db := open(t, "city.mmdb")
	listed, unlisted := ip("192.0.2.1"), ip("203.0.113.192")
	db.Details(listed)
	db.Details(unlisted)
	if n := testing.AllocsPerRun(100, func() {
		db.Details(listed)
		db.Details(unlisted)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

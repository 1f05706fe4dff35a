package geoip

import (
	"encoding/json"
	"math"
	"net/netip"
	"strconv"

	geoip2 "github.com/oschwald/geoip2-golang/v2"
)

// parts are the parts of an answer. Locate and Details cache their results separately, so that a
// part that is never used costs nothing.
type parts uint8

const (
	wantPlace parts = 1 << iota
	wantDetails
)

// answer is the cached result for an address.
type answer struct {
	place   map[string]any
	details [][2]string
	has     parts
}

func (a *answer) read(r *geoip2.City, need parts) {
	if need&wantPlace != 0 {
		a.place = properties(r)
	}
	if need&wantDetails != 0 {
		a.details = details(r)
	}
}

// Details returns the $geoip_ properties of capture.md §12.1 for ip, each with its value as JSON
// text. The result is nil if the database has no such property, or if the address is not public. It never
// includes $geoip_city_confidence, which City and Country databases do not contain. The result is
// shared: callers must not modify it.
func (db *DB) Details(ip netip.Addr) [][2]string { return db.lookUp(ip, wantDetails).details }

// detail is one of the properties and the function that reads it from a record.
type detail struct {
	name string
	text func(*geoip2.City) string // JSON text, empty if unknown
}

// detailFields is the table of capture.md §12.1, without $geoip_city_confidence.
var detailFields = [...]detail{
	{"$geoip_city_name", func(r *geoip2.City) string { return jsonText(r.City.Names.English) }},
	{"$geoip_subdivision_1_code", func(r *geoip2.City) string { return jsonText(subdivision(r, 0).ISOCode) }},
	{"$geoip_subdivision_1_name", func(r *geoip2.City) string { return jsonText(subdivision(r, 0).Names.English) }},
	{"$geoip_subdivision_2_code", func(r *geoip2.City) string { return jsonText(subdivision(r, 1).ISOCode) }},
	{"$geoip_subdivision_2_name", func(r *geoip2.City) string { return jsonText(subdivision(r, 1).Names.English) }},
	{"$geoip_country_name", func(r *geoip2.City) string { return jsonText(r.Country.Names.English) }},
	{"$geoip_country_code", func(r *geoip2.City) string { return jsonText(r.Country.ISOCode) }},
	{"$geoip_continent_name", func(r *geoip2.City) string { return jsonText(r.Continent.Names.English) }},
	{"$geoip_continent_code", func(r *geoip2.City) string { return jsonText(r.Continent.Code) }},
	{"$geoip_postal_code", func(r *geoip2.City) string { return jsonText(r.Postal.Code) }},
	{"$geoip_latitude", func(r *geoip2.City) string { return jsonDegrees(r.Location.Latitude) }},
	{"$geoip_longitude", func(r *geoip2.City) string { return jsonDegrees(r.Location.Longitude) }},
	{"$geoip_accuracy_radius", func(r *geoip2.City) string { return jsonCount(r.Location.AccuracyRadius) }},
	{"$geoip_time_zone", func(r *geoip2.City) string { return jsonText(r.Location.TimeZone) }},
}

func details(r *geoip2.City) [][2]string {
	var values [len(detailFields)][2]string
	n := 0
	for _, f := range detailFields {
		if value := f.text(r); value != "" {
			values[n] = [2]string{f.name, value}
			n++
		}
	}
	return append([][2]string(nil), values[:n]...)
}

func subdivision(r *geoip2.City, i int) geoip2.CitySubdivision {
	if i < len(r.Subdivisions) {
		return r.Subdivisions[i]
	}
	return geoip2.CitySubdivision{}
}

// jsonText returns s as a JSON string, or "" for an empty (unknown) value.
func jsonText(s string) string {
	if s == "" {
		return ""
	}
	text, err := json.Marshal(s)
	if err != nil { // never for a string
		return ""
	}
	return string(text)
}

// jsonDegrees returns a coordinate as JSON, or "" if it is unknown or not finite.
func jsonDegrees(f *float64) string {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return ""
	}
	return strconv.FormatFloat(*f, 'f', -1, 64)
}

// jsonCount returns a number of kilometres as JSON, or "" for 0 (unknown).
func jsonCount(n uint16) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

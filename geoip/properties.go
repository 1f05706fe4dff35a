package geoip

import geoip2 "github.com/oschwald/geoip2-golang/v2"

// Properties are the known values of the seven $geoip_ properties, all
// strings.
type Properties = map[string]any

// field is one of the seven properties and the function that reads it from a record.
type field struct {
	name string
	text func(*geoip2.City) string // empty if unknown
}

// fields is the table of §8.3. A Country record has the same shape as a City record, with fewer
// members.
var fields = [...]field{
	{"$geoip_city_name", func(r *geoip2.City) string { return r.City.Names.English }},
	{"$geoip_country_name", func(r *geoip2.City) string { return r.Country.Names.English }},
	{"$geoip_country_code", func(r *geoip2.City) string { return r.Country.ISOCode }},
	{"$geoip_continent_name", func(r *geoip2.City) string { return r.Continent.Names.English }},
	{"$geoip_continent_code", func(r *geoip2.City) string { return r.Continent.Code }},
	{"$geoip_postal_code", func(r *geoip2.City) string { return r.Postal.Code }},
	{"$geoip_time_zone", func(r *geoip2.City) string { return r.Location.TimeZone }},
}

// properties returns the properties in a record, or nil if it contains no value for them.
func properties(r *geoip2.City) Properties {
	var p Properties
	for _, f := range fields {
		if value := f.text(r); value != "" {
			if p == nil {
				p = make(Properties, len(fields))
			}
			p[f.name] = value
		}
	}
	return p
}

package geoip

import geoip2 "github.com/oschwald/geoip2-golang/v2"

// Properties are the known ones of the seven $geoip_ names with their values, all strings.
type Properties = map[string]any

// field is one of the seven properties and where a record keeps it.
type field struct {
	name string
	text func(*geoip2.City) string // empty: not known
}

// fields is the table of §8.3. A Country record has the same shape as a City record with the rest left out.
var fields = [...]field{
	{"$geoip_city_name", func(r *geoip2.City) string { return r.City.Names.English }},
	{"$geoip_country_name", func(r *geoip2.City) string { return r.Country.Names.English }},
	{"$geoip_country_code", func(r *geoip2.City) string { return r.Country.ISOCode }},
	{"$geoip_continent_name", func(r *geoip2.City) string { return r.Continent.Names.English }},
	{"$geoip_continent_code", func(r *geoip2.City) string { return r.Continent.Code }},
	{"$geoip_postal_code", func(r *geoip2.City) string { return r.Postal.Code }},
	{"$geoip_time_zone", func(r *geoip2.City) string { return r.Location.TimeZone }},
}

// properties returns what a record says; nil when it says none of the seven.
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

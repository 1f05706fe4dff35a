package main

import "github.com/maxmind/mmdbwriter/mmdbtype"

// cityRecord returns a row as a record of a City database.
func cityRecord(r row) mmdbtype.Map {
	m := countryRecord(r)
	put(m, "city", place("", "", r.City, r, func(n names) string { return n.City }))
	put(m, "postal", text("code", r.PostalCode))
	put(m, "location", text("time_zone", r.TimeZone))
	return m
}

// countryRecord returns a row as a record of a Country database.
func countryRecord(r row) mmdbtype.Map {
	m := mmdbtype.Map{}
	put(m, "continent", place("code", r.ContinentCode, r.Continent, r, func(n names) string { return n.Continent }))
	put(m, "country", place("iso_code", r.CountryCode, r.Country, r, func(n names) string { return n.Country }))
	put(m, "registered_country", place("iso_code", r.RegisteredCountryCode, r.RegisteredCountry, row{}, nil))
	return m
}

// asnRecord returns a record of an ASN database; 64496 is reserved for documentation (RFC 5398).
func asnRecord(row) mmdbtype.Map {
	return mmdbtype.Map{
		"autonomous_system_number":       mmdbtype.Uint32(64496),
		"autonomous_system_organization": mmdbtype.String("Documentation"),
	}
}

// flatRecord returns a row as a record of the flat community builds: a single level, with their
// names.
func flatRecord(r row) mmdbtype.Map {
	m := mmdbtype.Map{}
	for name, value := range map[mmdbtype.String]string{
		"country_code": r.CountryCode,
		"city":         r.City,
		"postcode":     r.PostalCode,
		"timezone":     r.TimeZone,
	} {
		if value != "" {
			m[name] = mmdbtype.String(value)
		}
	}
	return m
}

// place returns a code and the names by language, without empty members.
func place(codeName, code, english string, r row, other func(names) string) mmdbtype.Map {
	m := mmdbtype.Map{}
	if code != "" {
		m[mmdbtype.String(codeName)] = mmdbtype.String(code)
	}
	named := text("en", english)
	for language, n := range r.OtherNames {
		if name := other(n); name != "" {
			named[mmdbtype.String(language)] = mmdbtype.String(name)
		}
	}
	put(m, "names", named)
	return m
}

func text(name, value string) mmdbtype.Map {
	m := mmdbtype.Map{}
	if value != "" {
		m[mmdbtype.String(name)] = mmdbtype.String(value)
	}
	return m
}

func put(m mmdbtype.Map, name mmdbtype.String, value mmdbtype.Map) {
	if len(value) > 0 {
		m[name] = value
	}
}

// Command generate writes the .mmdb files of the parent folder from source.json. Its output depends
// only on source.json.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
)

// source is the content of source.json.
type source struct {
	BuildTime time.Time `json:"build_time"`
	Networks  []row     `json:"networks"`
	Nothing   []string  `json:"nothing"` // networks without a record, for the tests
}

// row is one network and its data; an empty member is left out of the record.
type row struct {
	Network               string           `json:"network"`
	ContinentCode         string           `json:"continent_code"`
	Continent             string           `json:"continent"`
	CountryCode           string           `json:"country_code"`
	Country               string           `json:"country"`
	City                  string           `json:"city"`
	PostalCode            string           `json:"postal_code"`
	TimeZone              string           `json:"time_zone"`
	RegisteredCountryCode string           `json:"registered_country_code"`
	RegisteredCountry     string           `json:"registered_country"`
	OtherNames            map[string]names `json:"other_names"` // by language
}

type names struct {
	Continent string `json:"continent"`
	Country   string `json:"country"`
	City      string `json:"city"`
}

// file describes one database file.
type file struct {
	name       string
	kind       string // the database type in its metadata
	ipVersion  int
	recordSize int // bits
	record     func(row) mmdbtype.Map
}

var files = []file{
	{"city.mmdb", "GeoLite2-City", 6, 28, cityRecord},
	{"country.mmdb", "DBIP-Country-Lite", 6, 24, countryRecord},
	{"ipv4.mmdb", "GeoIP2-Country", 4, 32, countryRecord},
	{"asn.mmdb", "GeoLite2-ASN", 6, 24, asnRecord},
	{"flat.mmdb", "city ipv4", 4, 24, flatRecord},
	{"flat-as-city.mmdb", "GeoLite2-City", 4, 24, flatRecord},
}

// documentation contains the ranges of RFC 5737 and RFC 3849; no other network may have a record.
var documentation = []netip.Prefix{
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("2001:db8::/32"),
}

func main() {
	if err := run(".."); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run reads source.json in dir and writes every file into the same folder.
func run(dir string) error {
	s, err := readSource(filepath.Join(dir, "source.json"))
	if err != nil {
		return err
	}
	for _, f := range files {
		data, err := build(f, s)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, f.name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readSource reads and checks the source: unknown members, networks that are not for documentation,
// and overlapping networks are errors.
func readSource(path string) (source, error) {
	var s source
	data, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	var seen []netip.Prefix
	for _, r := range s.Networks {
		p, err := netip.ParsePrefix(r.Network)
		if err != nil {
			return s, fmt.Errorf("%s: %w", path, err)
		}
		inside := func(d netip.Prefix) bool { return d.Contains(p.Addr()) && d.Bits() <= p.Bits() }
		switch {
		case p != p.Masked():
			return s, fmt.Errorf("%s: %s has bits beyond its length", path, p)
		case !slices.ContainsFunc(documentation, inside):
			return s, fmt.Errorf("%s: %s is not a documentation network", path, p)
		case slices.ContainsFunc(seen, p.Overlaps):
			return s, fmt.Errorf("%s: %s overlaps an earlier network", path, p)
		}
		seen = append(seen, p)
	}
	return s, nil
}

// build returns the bytes of one database.
func build(f file, s source) ([]byte, error) {
	tree, err := mmdbwriter.New(mmdbwriter.Options{
		BuildEpoch:              s.BuildTime.Unix(),
		DatabaseType:            f.kind,
		Description:             map[string]string{"en": "Test data of Bunting: documentation addresses only"},
		Languages:               []string{"de", "en", "fr", "ja"},
		IPVersion:               f.ipVersion,
		RecordSize:              f.recordSize,
		IncludeReservedNetworks: true,
	})
	if err != nil {
		return nil, err
	}
	for _, r := range s.Networks {
		p := netip.MustParsePrefix(r.Network)
		if f.ipVersion == 4 && p.Addr().Is6() {
			continue
		}
		network := &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
		if err := tree.Insert(network, f.record(r)); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Network, err)
		}
	}
	var out bytes.Buffer
	_, err = tree.WriteTo(&out)
	return out.Bytes(), err
}

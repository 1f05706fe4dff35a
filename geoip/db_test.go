package geoip

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const testdata = "../testdata/geoip"

// sourceRow is a row of source.json, with the members that affect a result.
type sourceRow struct {
	Network       string `json:"network"`
	ContinentCode string `json:"continent_code"`
	Continent     string `json:"continent"`
	CountryCode   string `json:"country_code"`
	Country       string `json:"country"`
	City          string `json:"city"`
	PostalCode    string `json:"postal_code"`
	TimeZone      string `json:"time_zone"`
}

// want returns the result according to the table of §8.3; a Country database has four of the seven
// properties.
func (r sourceRow) want(city bool) map[string]any {
	all := map[string]any{
		"$geoip_continent_code": r.ContinentCode,
		"$geoip_continent_name": r.Continent,
		"$geoip_country_code":   r.CountryCode,
		"$geoip_country_name":   r.Country,
	}
	if city {
		all["$geoip_city_name"] = r.City
		all["$geoip_postal_code"] = r.PostalCode
		all["$geoip_time_zone"] = r.TimeZone
	}
	for name, value := range all {
		if value == "" {
			delete(all, name)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

func readSource(t *testing.T) (rows []sourceRow, nothing []string) {
	t.Helper()
	var s struct {
		Networks []sourceRow `json:"networks"`
		Nothing  []string    `json:"nothing"`
	}
	data, err := os.ReadFile(filepath.Join(testdata, "source.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s.Networks, s.Nothing
}

func open(t testing.TB, name string) *DB {
	t.Helper()
	db, err := Open(filepath.Join(testdata, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func ip(s string) netip.Addr { return netip.MustParseAddr(s) }

// firstAndLast returns the first and the last address of a network.
func firstAndLast(t *testing.T, network string) [2]netip.Addr {
	t.Helper()
	p := netip.MustParsePrefix(network)
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	last, _ := netip.AddrFromSlice(b)
	return [2]netip.Addr{p.Addr(), last}
}

// Every row of source.json is found in the files generated from it. The expected values are the
// rows.
func TestFlags_8_3_EveryRowOfTheSource(t *testing.T) {
	rows, nothing := readSource(t)
	for _, n := range nothing {
		rows = append(rows, sourceRow{Network: n})
	}
	for _, file := range []struct {
		name       string
		city, ipv6 bool
	}{{"city.mmdb", true, true}, {"country.mmdb", false, true}, {"ipv4.mmdb", false, false}} {
		t.Run(file.name, func(t *testing.T) {
			db := open(t, file.name)
			for _, row := range rows {
				for _, a := range firstAndLast(t, row.Network) {
					want := row.want(file.city)
					if a.Is6() && !file.ipv6 {
						want = nil
					}
					for range 2 { // the second lookup uses the cache
						if diff := cmp.Diff(want, db.Locate(a)); diff != "" {
							t.Errorf("%s: -want +got\n%s", a, diff)
						}
					}
					if mapped := netip.AddrFrom16(a.As16()); a.Is4() && !cmp.Equal(want, db.Locate(mapped)) {
						t.Errorf("%s: got %v, want %v", mapped, db.Locate(mapped), want)
					}
				}
			}
			if s := db.Stats(); s.Unreadable != 0 || s.Hits == 0 {
				t.Errorf("stats %+v", s)
			}
		})
	}
}

// Values of testdata/geoip/source.json repeated by hand, to check the expectations of the test
// above.
func TestFlags_8_3_SevenProperties(t *testing.T) {
	db := open(t, "city.mmdb")
	want := map[string]any{
		"$geoip_city_name": "São Paulo", "$geoip_country_name": "Brazil", "$geoip_country_code": "BR",
		"$geoip_continent_name": "South America", "$geoip_continent_code": "SA",
		"$geoip_postal_code": "01310-100", "$geoip_time_zone": "America/Sao_Paulo",
	}
	got := db.Locate(ip("192.0.2.130"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// §8.3: loopback and other addresses without a location are not looked up. The number of lookups
// proves that the file is not read for them.
func TestFlags_8_3_AddressesWithoutAPlace(t *testing.T) {
	db := open(t, "city.mmdb")
	for _, s := range []string{
		"127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "10.1.2.3", "172.16.0.1", "192.168.1.1", "::ffff:10.0.0.1",
		"fc00::1", "fd12::1", "169.254.1.1", "fe80::1", "fe80::1%eth0", "224.0.0.1", "ff02::1",
	} {
		if got := db.Locate(ip(s)); got != nil {
			t.Errorf("%s: %v", s, got)
		}
	}
	if got := db.Locate(netip.Addr{}); got != nil {
		t.Errorf("zero address: %v", got)
	}
	if s := db.Stats(); s.Lookups != 0 || s.Remembered != 0 {
		t.Errorf("they were looked up: %+v", s)
	}
	if db.Locate(ip("2001:db8:1::1%eth0")) == nil {
		t.Error("an address with a zone is not located")
	}
}

func TestFlags_8_3_OpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	city := read(t, "city.mmdb")
	for _, c := range []struct {
		name, path string
		is         error
		says       string
	}{
		{"missing", filepath.Join(dir, "none.mmdb"), fs.ErrNotExist, "none.mmdb"},
		{"folder", dir, ErrDamaged, "not a regular file"},
		{"empty", write("empty.mmdb", nil), ErrDamaged, "empty.mmdb"},
		{"text", write("text.mmdb", []byte("not a database")), ErrDamaged, "text.mmdb"},
		{"gzip", write("city.mmdb.gz", []byte("\x1f\x8b\x08\x00")), ErrDamaged, "unpack"},
		{"truncated", write("half.mmdb", city[:len(city)/2]), ErrDamaged, "half.mmdb"},
		{"ASN", filepath.Join(testdata, "asn.mmdb"), ErrWrongKind, `"GeoLite2-ASN"`},
		{"flat", filepath.Join(testdata, "flat.mmdb"), ErrWrongKind, `"city ipv4"`},
		{"flat under a good name", filepath.Join(testdata, "flat-as-city.mmdb"), ErrWrongKind, "192.0.2.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db, err := Open(c.path)
			if !errors.Is(err, c.is) || db != nil {
				t.Fatalf("got %v, want %v", err, c.is)
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.path) {
				t.Errorf("message without %q or the path: %v", c.says, err)
			}
			// Decision 7: the message names the files to download.
			for _, file := range []string{"GeoLite2", "GeoIP2", "DB-IP", ".mmdb"} {
				if errors.Is(c.is, ErrWrongKind) && !strings.Contains(err.Error(), file) {
					t.Errorf("message does not name %s: %v", file, err)
				}
			}
		})
	}
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

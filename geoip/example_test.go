package geoip_test

import (
	"fmt"
	"log"
	"net/netip"

	"github.com/bunting-flags/bunting/geoip"
)

func ExampleDB_Locate() {
	db, err := geoip.Open("../testdata/geoip/city.mmdb")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	where := db.Locate(netip.MustParseAddr("192.0.2.1"))
	fmt.Println(where["$geoip_city_name"], where["$geoip_country_code"], where["$geoip_time_zone"])
	// Output: Berlin DE Europe/Berlin
}

// For limits and logs: only entries that a trusted proxy has written count.
func ExampleClientIP() {
	proxy := netip.MustParseAddr("10.0.0.1")
	header := []string{"1.1.1.1, 203.0.113.7"} // the client wrote the first one
	fmt.Println(geoip.ClientIP(header, proxy, geoip.DefaultTrusted()))
	fmt.Println(geoip.ClientIP(header, proxy, nil)) // no proxy is trusted
	// Output:
	// 203.0.113.7
	// 10.0.0.1
}

// For the location of a client: the first address in the header, whether true or not.
func ExampleCallerIP() {
	ip, fromHeader := geoip.CallerIP([]string{"203.0.113.7, 10.0.0.1"}, nil, netip.MustParseAddr("10.0.0.1"))
	fmt.Println(ip, fromHeader)
	// Output: 203.0.113.7 true
}

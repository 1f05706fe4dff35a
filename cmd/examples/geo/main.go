// Command geo prints the locations of IP addresses from a City or Country database (.mmdb).
package main

import (
	"fmt"
	"io"
	"log"
	"net/netip"
	"os"

	"github.com/bunting-flags/bunting/geoip"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: geo FILE ADDRESS...")
	}
	if err := locate(os.Stdout, os.Args[1], os.Args[2:]...); err != nil {
		log.Fatal(err)
	}
}

func locate(w io.Writer, file string, addresses ...string) error {
	// setup
	db, err := geoip.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	// end of setup
	for _, text := range addresses {
		address, err := netip.ParseAddr(text)
		if err != nil {
			return err
		}
		if location := db.Locate(address); location != nil {
			_, _ = fmt.Fprintln(w, text, location["$geoip_country_name"], location["$geoip_city_name"])
		} else {
			_, _ = fmt.Fprintln(w, text, "not known")
		}
	}
	return nil
}

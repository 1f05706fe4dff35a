package geoip_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/geoip"
)

// A nil database, and one that was not returned by Open, acts like a closed one.
func TestDB_NilAndZero(t *testing.T) {
	for name, db := range map[string]*geoip.DB{"nil": nil, "zero": {}} {
		for _, ip := range []netip.Addr{netip.MustParseAddr("89.160.20.112"), {}} {
			if db.Locate(ip) != nil || db.Details(ip) != nil {
				t.Errorf("%s: a place for %v", name, ip)
			}
		}
		if stats := db.Stats(); stats.Remembered != 0 || stats.Type != "" {
			t.Errorf("%s: %+v", name, stats)
		}
		if db.Reload() == nil {
			t.Errorf("%s: it was loaded", name)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
		db.Watch(ctx, time.Millisecond, nil)
		cancel()
		if err := db.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if reloaded, err := db.Refresh(); reloaded || err != nil {
			t.Errorf("%s: %v, %v", name, reloaded, err)
		}
	}
	if geoip.ParseRemote("").IsValid() || geoip.ClientIP(nil, netip.Addr{}, nil).IsValid() {
		t.Error("an address of nobody")
	}
	if ip, fromHeader := geoip.CallerIP(nil, nil, netip.Addr{}); ip.IsValid() || fromHeader {
		t.Error(ip, fromHeader)
	}
}

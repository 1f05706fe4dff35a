package geoip_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/geoip"
)

// A nil database knows nothing, as one that is closed.
func TestDB_Nil(t *testing.T) {
	var db *geoip.DB
	ip := netip.MustParseAddr("89.160.20.112")
	if db.Locate(ip) != nil || db.Details(ip) != nil || db.Changed() || db.Stats() != (geoip.Stats{}) {
		t.Error("a nil database says something")
	}
	if db.Reload() == nil {
		t.Error("a nil database was loaded")
	}
	if reloaded, err := db.Refresh(); reloaded || err != nil {
		t.Error(reloaded, err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Millisecond)
	defer cancel()
	db.Watch(ctx, time.Millisecond, func(err error) { t.Error(err) })
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

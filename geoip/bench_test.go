package geoip

import (
	"net/netip"
	"testing"
)

// A cached address costs at most 150 ns and makes no allocation.
func BenchmarkLocateRememberedNoAlloc(b *testing.B) {
	db := open(b, "city.mmdb")
	a := ip("192.0.2.1")
	db.Locate(a)
	b.ReportAllocs()
	for b.Loop() {
		if db.Locate(a) == nil {
			b.Fatal("nothing known")
		}
	}
}

// Every address is new, and the cache is full most of the time.
func BenchmarkLocateCold(b *testing.B) {
	db := open(b, "city.mmdb")
	a := ip("2001:db8:1::")
	b.ReportAllocs()
	for b.Loop() {
		if db.Locate(a) == nil {
			b.Fatal("nothing known")
		}
		a = a.Next()
		if !a.IsValid() || a.Compare(ip("2001:db8:1:ffff::")) > 0 {
			a = ip("2001:db8:1::")
		}
	}
}

func BenchmarkCallerIPNoAlloc(b *testing.B) {
	header, remote := []string{"203.0.113.7"}, ip("10.0.0.1")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := CallerIP(header, nil, remote); !ok {
			b.Fatal("not from the header")
		}
	}
}

func BenchmarkClientIPNoAlloc(b *testing.B) {
	header, remote, trusted := []string{"203.0.113.7, 10.0.0.2"}, ip("10.0.0.1"), DefaultTrusted()
	b.ReportAllocs()
	for b.Loop() {
		if !ClientIP(header, remote, trusted).IsValid() {
			b.Fatal("no client")
		}
	}
}

// The benchmarks called NoAlloc are checked by this test too.
func TestNoAllocations(t *testing.T) {
	db := open(t, "city.mmdb")
	var sink netip.Addr
	listed, unlisted, mapped := ip("192.0.2.1"), ip("203.0.113.200"), ip("::ffff:192.0.2.1")
	remote, trusted := ip("10.0.0.1"), DefaultTrusted()
	one, port, six := []string{"203.0.113.7"}, []string{"203.0.113.7:80"}, []string{"[2001:db8::1%eth0]:443"}
	chain := []string{"203.0.113.7, 10.0.0.2", "10.0.0.3"}
	for name, call := range map[string]func(){
		"Locate":           func() { db.Locate(listed) },
		"Locate, nothing":  func() { db.Locate(unlisted) },
		"Locate, mapped":   func() { db.Locate(mapped) },
		"Locate, loopback": func() { db.Locate(netip.IPv6Loopback()) },
		"CallerIP":         func() { sink, _ = CallerIP(one, nil, remote) },
		"CallerIP, port":   func() { sink, _ = CallerIP(port, nil, remote) },
		"CallerIP, IPv6":   func() { sink, _ = CallerIP(nil, six, remote) },
		"ClientIP":         func() { sink = ClientIP(chain, remote, trusted) },
	} {
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	_ = sink
}

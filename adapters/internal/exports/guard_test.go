package exports

import (
	"net/netip"
	"testing"
)

func TestGuard_Addresses(t *testing.T) {
	for _, tt := range []struct {
		address string
		want    bool
	}{
		{"8.8.8.8", true}, {"2001:4860:4860::8888", true}, {"::ffff:8.8.8.8", true}, {"64:ff9b::808:808", true}, {"2002:808:808::1", true},
		{"127.0.0.1", false}, {"127.9.9.9", false}, {"::1", false}, {"::ffff:127.0.0.1", false}, {"::127.0.0.1", false},
		{"10.1.2.3", false}, {"172.16.0.1", false}, {"172.31.255.255", false}, {"172.32.0.1", true}, {"192.168.1.1", false}, {"::ffff:10.0.0.1", false},
		{"169.254.169.254", false}, {"fe80::1", false}, {"fe80::1%eth0", false}, {"fd00:ec2::254", false}, {"fc00::1", false}, {"fec0::1", false},
		{"0.0.0.0", false}, {"0.1.2.3", false}, {"::", false}, {"255.255.255.255", false}, {"240.0.0.1", false},
		{"224.0.0.1", false}, {"ff02::1", false}, {"100.64.0.1", false}, {"100.128.0.1", true}, {"198.18.0.1", false}, {"192.0.0.8", false},
		{"192.0.2.1", false}, {"198.51.100.1", false}, {"203.0.113.1", false}, {"2001:db8::1", false}, {"2001::1", false},
		{"64:ff9b::7f00:1", false}, {"64:ff9b::a9fe:a9fe", false}, {"64:ff9b:1::1", false}, {"2002:7f00:1::", false}, {"2002:a00:1::", false},
	} {
		ip := netip.MustParseAddr(tt.address)
		if got := (guard{}).isAllowed(ip); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.address, got, tt.want)
		}
		if !(guard{allowed: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}).isAllowed(ip) {
			t.Errorf("%s is refused where everything is allowed", tt.address)
		}
	}
	g := guard{allowed: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for address, want := range map[string]bool{"10.1.1.1": true, "::ffff:10.1.1.1": true, "192.168.0.1": false, "127.0.0.1": false, "8.8.8.8": true} {
		if got := g.isAllowed(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s beside 10.0.0.0/8: %v, want %v", address, got, want)
		}
	}
}

func TestGuard_Dial(t *testing.T) {
	for _, address := range []string{"127.0.0.1:80", "localhost:80", "[::1]:80", "[::ffff:127.0.0.1]:80", "2130706433:80", "0x7f.1:80"} {
		if conn, err := (guard{timeout: testTimeout}).dial(t.Context(), "tcp", address); err == nil {
			_ = conn.Close()
			t.Errorf("%s was dialled", address)
		}
	}
	if _, err := (guard{allowed: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}}).dial(t.Context(), "unix", "/tmp/socket"); err == nil {
		t.Error("a socket was dialled")
	}
}

package geoip

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// addr is like ip but returns the zero Addr for an empty string.
func addr(s string) netip.Addr {
	if s == "" {
		return netip.Addr{}
	}
	return netip.MustParseAddr(s)
}

// The forms of an address, and invalid ones. The expected values are the addresses in each form.
func TestDecision7_FormsOfAnAddress(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"192.0.2.1", "192.0.2.1"},
		{" \t192.0.2.1 ", "192.0.2.1"},
		{"192.0.2.1:8080", "192.0.2.1"},
		{"192.0.2.1:0", "192.0.2.1"},
		{"2001:db8::1", "2001:db8::1"},
		{"2001:DB8:0:0::1", "2001:db8::1"},
		{"[2001:db8::1]", "2001:db8::1"},
		{"[2001:db8::1]:443", "2001:db8::1"},
		{"[2001:db8::1%eth0]:443", "2001:db8::1"},
		{"fe80::1%eth0", "fe80::1"},
		{"::ffff:192.0.2.1", "192.0.2.1"},
		{"[::ffff:192.0.2.1]:443", "192.0.2.1"},
		{"::ffff:c000:201", "192.0.2.1"},
		{"127.0.0.1", "127.0.0.1"},
		{"::", "::"},

		{"", ""}, {" ", ""}, {"@", ""}, {"/run/x.sock", ""}, {"unknown", ""}, {"_hidden", ""}, {"localhost", ""}, {"-", ""},
		{"192.0.2", ""}, {"192.0.2.256", ""}, {"192.0.2.01", ""}, {"0xc0000201", ""}, {"3221225985", ""},
		{"192.0.2.1:", ""}, {"192.0.2.1:x", ""}, {"192.0.2.1:65536", ""}, {"192.0.2.1:-1", ""}, {"192.0.2.1:000080", ""},
		{"192.0.2.1%eth0", ""}, {"192.0.2.1/32", ""}, {"192.0.2.1 192.0.2.2", ""}, {"192.0.2.1;x", ""},
		{"[192.0.2.1]", ""}, {"[192.0.2.1]:80", ""}, {"[2001:db8::1", ""}, {"2001:db8::1]", ""}, {"[]", ""}, {"[]:80", ""},
		{"[2001:db8::1]443", ""}, {"[2001:db8::1]:", ""}, {"[[2001:db8::1]]", ""}, {"fe80::1%", ""}, {"2001:db8:::1", ""},
		{"for=192.0.2.1", ""}, {"1" + strings.Repeat("0", 1000), ""}, {"192.0.2.1\x00", ""}, {"１９２.0.2.1", ""},
	} {
		if got := ParseRemote(c.in); got != addr(c.want) {
			t.Errorf("%q: got %v, want %q", c.in, got, c.want)
		}
	}
}

// CallerIP: interface §4.4, flags §8.3, decision 7. The expected addresses are the first valid
// entries.
func TestDecision7_CallerIP(t *testing.T) {
	const peer = "198.51.100.9"
	for _, c := range []struct {
		name               string
		forwarded, literal []string
		want               string
		fromHeader         bool
	}{
		{"no header", nil, nil, peer, false},
		{"one address", []string{"192.0.2.1"}, nil, "192.0.2.1", true},
		{"first of many", []string{"192.0.2.1, 10.0.0.1, 203.0.113.5"}, nil, "192.0.2.1", true},
		{"first of many lines", []string{"192.0.2.1", "203.0.113.5"}, nil, "192.0.2.1", true},
		{"blank line first", []string{"", "203.0.113.5"}, nil, "203.0.113.5", true},
		{"garbage first", []string{"unknown, , 192.0.2.300", "203.0.113.5:99, 192.0.2.1"}, nil, "203.0.113.5", true},
		{"only garbage", []string{"unknown, nobody"}, nil, peer, false},
		{"port and brackets", []string{"[2001:db8::1]:443"}, nil, "2001:db8::1", true},
		{"loopback is valid", []string{"127.0.0.1, 192.0.2.1"}, nil, "127.0.0.1", true}, // §12.5 row 107: then no lookup
		{"literal alone", nil, []string{"192.0.2.1"}, "192.0.2.1", true},
		{"literal beside a blank header", []string{" "}, []string{"192.0.2.1"}, "192.0.2.1", true},
		{"literal beside the real header", []string{"203.0.113.5"}, []string{"192.0.2.1"}, "203.0.113.5", true},
		{"literal beside garbage", []string{"unknown"}, []string{"192.0.2.1"}, peer, false},
		{"64th entry", []string{strings.Repeat("x,", 63) + "192.0.2.1"}, nil, "192.0.2.1", true},
		{"65th entry", []string{strings.Repeat("x,", 64) + "192.0.2.1"}, nil, peer, false},
	} {
		got, fromHeader := CallerIP(c.forwarded, c.literal, addr(peer))
		if got != addr(c.want) || fromHeader != c.fromHeader {
			t.Errorf("%s: got %v, %v; want %s, %v", c.name, got, fromHeader, c.want, c.fromHeader)
		}
	}
	if got, _ := CallerIP(nil, nil, addr("::ffff:192.0.2.1")); got != addr("192.0.2.1") {
		t.Errorf("peer in IPv6 form: %v", got)
	}
	if got, fromHeader := CallerIP([]string{"x"}, nil, netip.Addr{}); got.IsValid() || fromHeader {
		t.Errorf("no peer: %v, %v", got, fromHeader)
	}
}

// ClientIP, the strict rule of decision 7, worked by hand: from the right, over trusted proxies,
// but not beyond an address or an entry that is not trusted.
func TestDecision7_ClientIP(t *testing.T) {
	trusted := DefaultTrusted()
	for _, c := range []struct {
		name      string
		forwarded []string
		remote    string
		trusted   []netip.Prefix
		want      string
	}{
		{"no proxy", nil, "203.0.113.5", trusted, "203.0.113.5"},
		{"a stranger forges the header", []string{"192.0.2.1"}, "203.0.113.5", trusted, "203.0.113.5"},
		{"a stranger claims to be local", []string{"127.0.0.1"}, "203.0.113.5", trusted, "203.0.113.5"},
		{"nobody is trusted", []string{"192.0.2.1"}, "127.0.0.1", nil, "127.0.0.1"},
		{"one proxy", []string{"203.0.113.5"}, "10.0.0.1", trusted, "203.0.113.5"},
		{"a client forges behind one proxy", []string{"192.0.2.1, 203.0.113.5"}, "10.0.0.1", trusted, "203.0.113.5"},
		{"a client forges a trusted address", []string{"192.0.2.1, 10.0.0.7, 203.0.113.5"}, "10.0.0.1", trusted, "203.0.113.5"},
		{"two proxies", []string{"203.0.113.5, 10.0.0.2"}, "10.0.0.1", trusted, "203.0.113.5"},
		{"a client forges a line of its own", []string{"192.0.2.1", "203.0.113.5", "10.0.0.2"}, "10.0.0.1", trusted, "203.0.113.5"},
		{"IPv6 and ports", []string{"[2001:db8::1]:4711, [fd00::2]:80"}, "::1", trusted, "2001:db8::1"},
		{"trusted in IPv6 form", []string{"203.0.113.5, ::ffff:10.0.0.2"}, "::ffff:10.0.0.1", trusted, "203.0.113.5"},
		{"trusted with a zone", []string{"203.0.113.5"}, "fd00::1%eth0", trusted, "203.0.113.5"},
		{"empty elements", []string{"203.0.113.5, , ", "", ","}, "10.0.0.1", trusted, "203.0.113.5"},
		{"all trusted: the leftmost", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.1", trusted, "10.0.0.3"},
		{"proxy without a header", nil, "10.0.0.1", trusted, "10.0.0.1"},
		{"proxy with a blank header", []string{" "}, "10.0.0.1", trusted, "10.0.0.1"},
		{"garbage where it would be believed", []string{"203.0.113.5, unknown"}, "10.0.0.1", trusted, ""},
		{"garbage behind a second proxy", []string{"203.0.113.5, ?, 10.0.0.2"}, "10.0.0.1", trusted, ""},
		{"garbage written by the client", []string{"?, 203.0.113.5"}, "10.0.0.1", trusted, "203.0.113.5"},
		{"unix socket", []string{"203.0.113.5"}, "", trusted, ""},
		{"64 entries", []string{"203.0.113.5" + strings.Repeat(",10.0.0.2", 63)}, "10.0.0.1", trusted, "203.0.113.5"},
		{"65 entries", []string{"203.0.113.5" + strings.Repeat(",10.0.0.2", 64)}, "10.0.0.1", trusted, ""},
		{"link-local is not trusted", []string{"203.0.113.5"}, "169.254.1.1", trusted, "169.254.1.1"},
	} {
		if got := ClientIP(c.forwarded, addr(c.remote), c.trusted); got != addr(c.want) {
			t.Errorf("%s: got %v, want %q", c.name, got, c.want)
		}
	}
}

// RFC 1122 §3.2.1.3, RFC 4291 §2.5.3, RFC 1918 §3, RFC 4193 §3: first and last address of each
// network, and the adjacent addresses outside.
func TestDecision7_DefaultTrusted(t *testing.T) {
	trusted := DefaultTrusted()
	for _, s := range []string{"127.0.0.0", "127.255.255.255", "::1", "10.0.0.0", "10.255.255.255", "172.16.0.0",
		"172.31.255.255", "192.168.0.0", "192.168.255.255", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"} {
		if !contains(trusted, addr(s)) {
			t.Errorf("%s is not trusted", s)
		}
	}
	for _, s := range []string{"126.255.255.255", "128.0.0.0", "::", "::2", "9.255.255.255", "11.0.0.0", "172.15.255.255",
		"172.32.0.0", "192.167.255.255", "192.169.0.0", "fbff::", "fe00::", "100.64.0.1", "169.254.0.1", "fe80::1", "192.0.2.1"} {
		if contains(trusted, addr(s)) {
			t.Errorf("%s is trusted", s)
		}
	}
}

// lenient parses an entry differently from parseAddr and accepts at least the same entries.
func lenient(entry string) netip.Addr {
	s := strings.Trim(entry, " \t")
	if i := strings.IndexByte(s, '%'); i >= 0 { // cut the zone, but not the text after the bracket
		rest := ""
		if j := strings.IndexByte(s, ']'); j > i {
			rest = s[j:]
		}
		s = s[:i] + rest
	}
	if a, err := netip.ParseAddr(s); err == nil {
		return a.Unmap()
	}
	if a, err := netip.ParseAddrPort(s); err == nil {
		return a.Addr().Unmap()
	}
	if a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")); err == nil {
		return a.Unmap()
	}
	return netip.Addr{}
}

// The result of ClientIP is the zero Addr, or the peer, or an entry such that the peer and every
// entry to its right are trusted. The result of CallerIP is the peer, or the first valid entry.
// lines are the lines of the header.
func FuzzClientAddress(f *testing.F) {
	for _, seed := range [][2]string{
		{"", "203.0.113.5:1"}, {"192.0.2.1", "10.0.0.1:80"}, {"192.0.2.1, 10.0.0.2\n203.0.113.5,,", "[::1]:80"},
		{"[2001:db8::1]:80,fd00::1%e,::ffff:10.0.0.1", "[fd00::1%eth0]:1"}, {"?, ::ffff:1.2.3.4%x", "127.0.0.1"}, {",,\n,", "@"},
		{strings.Repeat("10.0.0.1,", 70), "10.0.0.1"}, {"10.0.0.3\n10.0.0.2", "192.168.0.1:9"},
	} {
		f.Add(seed[0], seed[1])
	}
	trusted := DefaultTrusted()
	f.Fuzz(func(t *testing.T, header, remoteAddr string) {
		lines := strings.Split(header, "\n")
		remote := ParseRemote(remoteAddr)
		var entries []netip.Addr // as parsed by lenient; empty elements left out
		for _, e := range strings.Split(strings.Join(lines, ","), ",") {
			if strings.Trim(e, " \t") != "" {
				entries = append(entries, lenient(e))
			}
		}
		believed := func(a netip.Addr) bool {
			return a.IsValid() && slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
		}

		strict := ClientIP(lines, remote, trusted)
		if strict.Is4In6() || strict.Zone() != "" {
			t.Errorf("not a plain address: %v", strict)
		}
		lawful := !strict.IsValid() || strict == remote && (!believed(remote) || len(entries) == 0)
		chain := believed(remote)
		for i := len(entries) - 1; i >= 0 && chain && !lawful; i-- {
			lawful = entries[i] == strict && (!believed(strict) || i == 0)
			chain = believed(entries[i])
		}
		if !lawful {
			t.Errorf("ClientIP(%q, %v) = %v", lines, remote, strict)
		}

		caller, fromHeader := CallerIP(lines, nil, remote)
		if fromHeader && !slices.Contains(entries, caller) || !fromHeader && caller != remote {
			t.Errorf("CallerIP(%q, %v) = %v, %v", lines, remote, caller, fromHeader)
		}
	})
}
